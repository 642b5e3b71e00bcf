/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "sandbox/files/command_path.h"
#include "sandbox/files/file_system.h"

/* A machine as a table: path, kind ('d', 'f', 's'ocket), or "->" and a link's target. */
struct node {
	const char *path, *is;
};

static const struct node debian[] = {
	{"/usr", "d"},
	{"/usr/bin", "d"},
	{"/usr/bin/git", "f"},
	{"/usr/local/bin", "d"},
	{"/usr/local/bin/agent", "->/home/u/.local/share/agent"},
	{"/bin", "->usr/bin"},
	{"/lib", "->usr/lib"},
	{"/etc", "d"},
	{"/etc/shadow", "f"},
	{"/etc/ssl/private", "d"},
	{"/etc/hosts", "f"},
	{"/etc/ssl/bundle", "f"},
	{"/etc/ssl/cert.pem", "->bundle"},
	{"/etc/browser", "d"},
	{"/etc/browser/preferences", "f"},
	{"/etc/browser/link", "->preferences"},
	{"/etc/browser/socket", "s"},
	{"/etc/managed", "d"},
	{"/etc/managed/policies", "d"},
	{"/etc/managed/policies/theirs", "f"},
	{"/etc/managed/other", "d"},
	{"/etc/moved", "->browser"},
	{"/etc/resolv.conf", "->../run/systemd/resolve/stub-resolv.conf"},
	{"/run", "d"},
	{"/run/systemd/resolve/stub-resolv.conf", "f"},
	{"/run/user/1000", "d"},
	{"/run/user/1000/sandgate", "d"},
	{"/run/user/1000/agent.sock", "s"},
	{"/proc", "d"},
	{"/proc/sys", "d"},
	{"/proc/keys", "f"},
	{"/dev/kvm", "s"},
	{"/var", "d"},
	{"/var/lib/dpkg", "d"},
	{"/var/lib/apt", "d"},
	{"/var/www", "d"},
	{"/tmp", "d"},
	{"/data", "d"},
	{"/data/sub", "d"},
	{"/data/link", "->/home/u/.ssh"},
	{"/home", "d"},
	{"/home/u", "d"},
	{"/home/u/.ssh", "d"},
	{"/home/u/.config", "d"},
	{"/home/u/.gitconfig", "f"},
	{"/home/u/.local", "d"},
	{"/home/u/.local/bin", "d"},
	{"/home/u/.local/state", "d"},
	{"/home/u/.local/state/sandgate", "d"},
	{"/home/u/moved", "->/data/sub"},
	{"/home/u/.local/bin/tool", "f"},
	{"/home/u/.local/share/agent", "f"},
	{"/home/u/p", "d"},
	{"/home/u/p/.git", "d"},
	{"/home/u/p/.git/hooks", "d"},
	{"/home/u/p/.git/config", "f"},
	{"/home/u/p/.github", "d"},
	{"/home/u/p/.github/workflows", "d"},
	{"/home/u/p/.bashrc", "->/home/u/.ssh"},
	{"/home/u/p/.gitlab-ci.yml", "f"},
	{"/home/u/p/secret", "f"},
	{"/home/u/p/dir", "d"},
	{"/home/u/p/dir/public", "f"},
	{"/home/u/worktree", "d"},
	{"/home/u/worktree/.git", "f"},
	{"/home/u/evil", "d"},
	{"/home/u/evil/.git", "->/home/u/.ssh"},
	{"/loop", "->/loop"},
};

static const struct node *find(const char *path)
{
	for (size_t i = 0; i < sg_array_len(debian); i++)
		if (strcmp(debian[i].path, path) == 0)
			return &debian[i];
	return NULL;
}

static enum path_kind table_kind(const void *ctx, const char *path)
{
	const struct node *n = find(path);

	if (strcmp(path, "/") == 0)
		return PATH_DIR;
	if (!n)
		return PATH_NONE;
	switch (n->is[0]) {
	case 'd':
		return PATH_DIR;
	case 'f':
		return PATH_FILE;
	case '-':
		return PATH_LINK;
	default:
		return PATH_OTHER;
	}
}

static bool table_link(const void *ctx, const char *path, char *out, size_t cap)
{
	const struct node *n = find(path);

	return n && n->is[0] == '-' && (size_t)snprintf(out, cap, "%s", n->is + 2) < cap;
}

static bool table_each(const void *ctx, const char *path, bool (*fn)(void *arg, const char *name),
		       void *arg)
{
	size_t n = strlen(path);

	for (size_t i = 0; i < sg_array_len(debian); i++)
		if (path_holds(path, debian[i].path) && debian[i].path[n] &&
		    !strchr(debian[i].path + n + 1, '/') && !fn(arg, debian[i].path + n + 1))
			return false;
	return true;
}

static const struct tree table = {.kind = table_kind, .link = table_link, .each = table_each};

static const char *const own[] = {"/run/user/1000/sandgate", "/home/u/.config/sandgate", NULL};

static struct file_request in(const char *cwd)
{
	return (struct file_request){
		.host = &table,
		.cwd = cwd,
		.home = "/home/u",
		.own = own,
		.resolv_conf = "nameserver x\n",
		.hosts = "hosts\n",
	};
}

static struct file_plan built(const struct file_request *r)
{
	struct file_plan p;
	struct err e;

	if (file_plan_build(r, &p, &e))
		fail_msg("%s", e.text);
	return p;
}

static const struct mount *at(const struct file_plan *p, const char *dest)
{
	const struct mount *found = NULL;

	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->mounts[i].dest, dest) == 0)
			found = &p->mounts[i];
	return found;
}

static void assert_mount(const struct file_plan *p, const char *dest, enum mount_kind kind)
{
	const struct mount *m = at(p, dest);

	if (!m)
		fail_msg("nothing at %s", dest);
	else if (m->kind != kind)
		fail_msg("%s: kind %d, not %d", dest, (int)m->kind, (int)kind);
}

static void assert_refused(const struct file_request *r, const char *says)
{
	struct file_plan p;
	struct err e = {""};

	if (file_plan_build(r, &p, &e) == 0)
		fail_msg("accepted; it should say: %s", says);
	if (!strstr(e.text, says))
		fail_msg("\"%s\" does not say: %s", e.text, says);
}

static void upper_folders_come_before_lower_ones(void **state)
{
	struct file_request r = in("/home/u/p");
	struct file_plan p = built(&r);

	for (size_t i = 0; i < p.n; i++)
		for (size_t j = 0; j < i; j++)
			if (path_holds(p.mounts[i].dest, p.mounts[j].dest) &&
			    strcmp(p.mounts[i].dest, p.mounts[j].dest) != 0)
				fail_msg("%s covers %s", p.mounts[i].dest, p.mounts[j].dest);
	file_plan_free(&p);
}

static void the_system_is_read_only_and_the_rest_private(void **state)
{
	struct file_request r = in("/home/u/p");
	struct file_plan p = built(&r);

	assert_mount(&p, "/usr", MOUNT_RO);
	assert_mount(&p, "/etc", MOUNT_RO);
	assert_mount(&p, "/bin", MOUNT_LINK);
	assert_null(at(&p, "/lib32"));
	assert_mount(&p, "/tmp", MOUNT_TMPFS);
	assert_mount(&p, "/run", MOUNT_TMPFS);
	assert_mount(&p, "/home/u", MOUNT_TMPFS);
	assert_mount(&p, "/home/u/p", MOUNT_RW);
	assert_mount(&p, "/proc/sys", MOUNT_RO);
	assert_null(at(&p, "/proc/keys"));
	assert_string_equal(p.home, "/home/u");
	assert_string_equal(p.workdir, "/home/u/p");
	assert_null(p.warning);
	assert_int_equal(file_plan_look(&p, &table, "/home/u/.ssh"), PATH_NONE);
	assert_int_equal(file_plan_look(&p, &table, "/data"), PATH_NONE);
	assert_int_equal(file_plan_look(&p, &table, "/run/user/1000/agent.sock"), PATH_NONE);
	assert_int_equal(file_plan_look(&p, &table, "/bin/git"), PATH_FILE);
	assert_int_equal(file_plan_look(&p, &table, "/home"), PATH_DIR);
	file_plan_free(&p);
}

static void what_runs_outside_later_is_protected(void **state)
{
	struct file_request r = in("/home/u/p");
	struct file_plan p = built(&r);

	assert_mount(&p, "/home/u/p/.git/hooks", MOUNT_RO);
	assert_mount(&p, "/home/u/p/.git/config", MOUNT_RO);
	assert_mount(&p, "/home/u/p/.github/workflows", MOUNT_RO);
	assert_mount(&p, "/home/u/p/.gitlab-ci.yml", MOUNT_RO);
	/* Pinned, so that it cannot be moved away with what it holds. */
	assert_mount(&p, "/home/u/p/.git", MOUNT_RW);
	assert_mount(&p, "/home/u/p/.github", MOUNT_RW);
	for (size_t i = 0; i < p.n; i++)
		if (path_holds("/home/u/p", p.mounts[i].dest))
			assert_true(p.mounts[i].checked);
	file_plan_free(&p);
}

static void a_link_in_the_working_directory_is_not_followed(void **state)
{
	struct file_request r = in("/home/u/p");
	struct file_plan p = built(&r);

	assert_null(at(&p, "/home/u/p/.bashrc"));
	file_plan_free(&p);
	r = in("/home/u/evil");
	p = built(&r);
	for (size_t i = 0; i < p.n; i++)
		assert_false(p.mounts[i].source && strstr(p.mounts[i].source, ".ssh"));
	file_plan_free(&p);
}

static bool was_shared(const void *folder, const char *path)
{
	return path_holds(folder, path);
}

/* An earlier sandbox made it: the next run with the same option would hand in what it points to. */
static void a_named_link_of_a_sandbox_s_making_is_refused(void **state)
{
	static const char *const in_workdir[] = {".bashrc", NULL}, *const beside[] = {"/data/link",
										      NULL};
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.rw = in_workdir;
	assert_refused(&r,
		       ".bashrc: /home/u/p/.bashrc is a link in a folder that a sandbox may write");
	r.rw = NULL;
	r.ro = beside;
	p = built(&r);
	file_plan_free(&p);
	r.was_shared = was_shared;
	r.was_shared_ctx = "/data";
	assert_refused(&r, "/data/link is a link in a folder that a sandbox may write");
}

static void rw_takes_a_protection_back(void **state)
{
	static const char *const hooks[] = {".git/hooks", NULL}, *const git[] = {".git", NULL},
				 *const all[] = {".", NULL};
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.rw = hooks;
	p = built(&r);
	assert_mount(&p, "/home/u/p/.git/hooks", MOUNT_RW);
	assert_mount(&p, "/home/u/p/.git/config", MOUNT_RO);
	file_plan_free(&p);
	r.rw = git;
	p = built(&r);
	assert_mount(&p, "/home/u/p/.git", MOUNT_RW);
	assert_null(at(&p, "/home/u/p/.git/hooks"));
	assert_mount(&p, "/home/u/p/.gitlab-ci.yml", MOUNT_RO);
	file_plan_free(&p);
	/* Naming the whole says nothing about the parts. */
	r.rw = all;
	p = built(&r);
	assert_mount(&p, "/home/u/p/.git/hooks", MOUNT_RO);
	file_plan_free(&p);
}

static void ro_makes_the_working_directory_read_only(void **state)
{
	static const char *const here[] = {".", NULL}, *const above[] = {"..", NULL};
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.ro = here;
	p = built(&r);
	assert_mount(&p, "/home/u/p", MOUNT_RO);
	assert_null(at(&p, "/home/u/p/.git"));
	file_plan_free(&p);
	/* The home is shown, but what lies nearer still counts. */
	r.ro = above;
	p = built(&r);
	assert_mount(&p, "/home/u", MOUNT_RO);
	assert_mount(&p, "/home/u/p", MOUNT_RW);
	assert_int_equal(file_plan_look(&p, &table, "/home/u/.gitconfig"), PATH_FILE);
	file_plan_free(&p);
}

static void named_files_keep_their_place(void **state)
{
	static const char *const ro[] = {"/home/u/.gitconfig", "/data/link", NULL};
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.ro = ro;
	p = built(&r);
	assert_mount(&p, "/home/u/.gitconfig", MOUNT_RO);
	assert_mount(&p, "/data/link", MOUNT_RO);
	assert_string_equal(at(&p, "/data/link")->source, "/home/u/.ssh");
	file_plan_free(&p);
}

static void hide_covers_files_and_folders(void **state)
{
	static const char *const hide[] = {"secret", "dir", "/home/u/.ssh", ".git", NULL},
				 *const ro[] = {"dir/public", NULL};
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.hide = hide;
	r.ro = ro;
	p = built(&r);
	assert_mount(&p, "/home/u/p/secret", MOUNT_BLANK);
	assert_mount(&p, "/home/u/p/dir", MOUNT_TMPFS);
	assert_mount(&p, "/home/u/p/dir/public", MOUNT_RO);
	assert_mount(&p, "/home/u/p/.git", MOUNT_TMPFS);
	assert_null(at(&p, "/home/u/p/.git/hooks"));
	assert_null(at(&p, "/home/u/.ssh"));
	file_plan_free(&p);
}

static void paths_that_are_not_there_or_not_to_be_had_are_errors(void **state)
{
	static const struct {
		const char *path, *says;
	} rows[] = {
		{"/no/such", "/no/such: no such file or folder"},
		{"", "the path is empty"},
		{"/loop", "links go round"},
		{"/", "name what lies in it"},
		{"/run", "name what lies in it"},
		{"/proc/sys", "not shared"},
		{"/dev/kvm", "not shared"},
		{"/run/user/1000/sandgate", "own files"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		const char *const list[] = {rows[i].path, NULL};
		struct file_request r = in("/home/u/p");

		r.rw = list;
		assert_refused(&r, rows[i].says);
		r.rw = NULL;
		r.ro = list;
		assert_refused(&r, rows[i].says);
		r.ro = NULL;
		r.hide = list;
		assert_refused(&r, rows[i].says);
	}
}

static void what_is_sandgates_own_cannot_be_made(void **state)
{
	static const char *const rw[] = {"/home/u/.config", NULL};
	struct file_request r = in("/home/u/p");

	r.rw = rw;
	assert_refused(&r, "mkdir -p /home/u/.config/sandgate");
}

/* A cover goes away with the folder above it, when that is moved: nothing moves what is mounted on.
 */
static void what_leads_to_sandgates_own_stays_in_its_place(void **state)
{
	static const char *const rw[] = {"/home/u", NULL}, *const ro[] = {"/home/u/.local", NULL};
	static const char *const kept[] = {"/home/u/.local/state/sandgate", NULL};
	static const char *const hide[] = {"dir/public", NULL}, *const below[] = {
									".github/workflows", NULL};
	struct file_request r = in("/home/u/p/dir");
	struct file_plan p;

	r.own = kept;
	r.rw = rw;
	p = built(&r);
	assert_mount(&p, "/home/u/.local/state/sandgate", MOUNT_TMPFS);
	assert_mount(&p, "/home/u/.local/state", MOUNT_RW);
	assert_mount(&p, "/home/u/.local", MOUNT_RW);
	assert_true(at(&p, "/home/u/.local")->checked);
	/* Nor the working directory, with what is read-only in it. */
	assert_mount(&p, "/home/u/p", MOUNT_RW);
	assert_null(at(&p, "/home/u/.config"));
	file_plan_free(&p);
	/* What is hidden or read-only further down stays there as well: the next run looks for it
	 * there. */
	r = in("/home/u/p");
	r.hide = hide;
	r.ro = below;
	p = built(&r);
	assert_mount(&p, "/home/u/p/dir/public", MOUNT_BLANK);
	assert_mount(&p, "/home/u/p/dir", MOUNT_RW);
	assert_mount(&p, "/home/u/p/.github/workflows", MOUNT_RO);
	assert_mount(&p, "/home/u/p/.github", MOUNT_RW);
	file_plan_free(&p);
	r = in("/home/u/p/dir");
	r.own = kept;
	r.rw = rw;
	/* What is read-only needs nothing, and does not become writable by it. */
	r.ro = ro;
	p = built(&r);
	assert_mount(&p, "/home/u/.local/state/sandgate", MOUNT_TMPFS);
	assert_mount(&p, "/home/u/.local", MOUNT_RO);
	assert_null(at(&p, "/home/u/.local/state"));
	file_plan_free(&p);
}

static void a_link_on_the_way_to_sandgates_own_is_not_shared(void **state)
{
	static const char *const rw[] = {"/home/u", NULL}, *const below[] = {"/home/u/p", NULL};
	static const char *const kept[] = {"/data/sub/sandgate", NULL};
	static const char *const ways[] = {"/home/u/moved/sandgate", NULL};
	struct file_request r = in("/home/u/p/dir");
	struct file_plan p;

	r.own = kept;
	r.own_ways = ways;
	r.rw = rw;
	assert_refused(&r, "/home/u/moved: the sandbox could replace this link");
	r.rw = below;
	p = built(&r);
	file_plan_free(&p);
	r.rw = NULL;
	r.ro = rw;
	p = built(&r);
	file_plan_free(&p);
}

static void the_registry_is_never_seen(void **state)
{
	static const char *const ro[] = {"/run/user/1000", NULL};
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.ro = ro;
	p = built(&r);
	assert_mount(&p, "/run/user/1000", MOUNT_RO);
	assert_mount(&p, "/run/user/1000/sandgate", MOUNT_TMPFS);
	assert_int_equal(file_plan_look(&p, &table, "/run/user/1000/agent.sock"), PATH_OTHER);
	file_plan_free(&p);
}

static void some_working_directories_are_not_shared(void **state)
{
	static const struct {
		const char *cwd, *says, *workdir;
	} rows[] = {
		{"/home/u", "is your home folder", "/home/u"},
		{"/home", "holds your home folder", "/home"},
		{"/", "holds your home folder", "/"},
		{"/usr/bin", "is a folder of the system", "/usr/bin"},
		{"/etc", "is a folder of the system", "/etc"},
		{"/tmp", "is a folder of the system", "/tmp"},
		{"/var", "is a folder of the system", "/var"},
		{"/run/user/1000", "is a folder of the system", "/home/u"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct file_request r = in(rows[i].cwd);
		struct file_plan p = built(&r);
		const struct mount *m = at(&p, rows[i].cwd);

		assert_false(m && m->kind == MOUNT_RW);
		assert_non_null(p.warning);
		if (!strstr(p.warning, rows[i].says))
			fail_msg("%s does not say: %s", p.warning, rows[i].says);
		assert_string_equal(p.workdir, rows[i].workdir);
		file_plan_free(&p);
	}
}

static void other_working_directories_are(void **state)
{
	static const char *const rows[] = {"/data", "/var/www", "/home/u/p"};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct file_request r = in(rows[i]);
		struct file_plan p = built(&r);

		assert_mount(&p, rows[i], MOUNT_RW);
		assert_null(p.warning);
		file_plan_free(&p);
	}
}

static void root_inside_has_its_own_home_and_may_fetch_packages(void **state)
{
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.as_root = true;
	p = built(&r);
	assert_string_equal(p.home, "/root");
	assert_mount(&p, "/root", MOUNT_TMPFS);
	assert_null(at(&p, "/home/u"));
	assert_mount(&p, SANDBOX_APT_CONFIG, MOUNT_TEXT);
	assert_mount(&p, "/var/lib/apt/lists", MOUNT_TMPFS);
	assert_mount(&p, "/var/cache/apt", MOUNT_TMPFS);
	assert_null(at(&p, "/var/lib/apt"));
	assert_mount(&p, "/var/lib/dpkg", MOUNT_RO);
	file_plan_free(&p);
}

/* The sandbox of root has the user id that may read and write what the kernel shows in files. */
static void of_the_kernels_files_root_sees_fewer(void **state)
{
	struct file_request r = in("/data");
	struct file_plan p;

	r.host_root = true;
	p = built(&r);
	assert_mount(&p, "/proc/sys", MOUNT_RO);
	assert_mount(&p, "/proc/keys", MOUNT_BLANK);
	assert_null(at(&p, "/proc/kcore"));
	file_plan_free(&p);
}

static void a_worktrees_git_file_is_protected(void **state)
{
	struct file_request r = in("/home/u/worktree");
	struct file_plan p = built(&r);

	assert_mount(&p, "/home/u/worktree/.git", MOUNT_RO);
	file_plan_free(&p);
}

static void a_home_that_hides_the_system_is_replaced(void **state)
{
	static const struct {
		const char *home, *inside;
	} rows[] = {
		{NULL, "/home/user"},
		{"", "/home/user"},
		{"/", "/home/user"},
		{"relative", "/home/user"},
		{"/usr/sbin", "/home/user"},
		{"/var", "/home/user"},
		{"/home/../etc", "/home/user"},
		{"/nonexistent", "/nonexistent"},
		{"/var/lib/service/", "/var/lib/service"},
	};

	for (size_t i = 0; i < sg_array_len(rows); i++) {
		struct file_request r = in("/data");
		struct file_plan p;

		r.home = rows[i].home;
		p = built(&r);
		assert_string_equal(p.home, rows[i].inside);
		assert_mount(&p, rows[i].inside, MOUNT_TMPFS);
		file_plan_free(&p);
	}
}

static void masked_files_are_covered(void **state)
{
	static const char *const masked[] = {"/etc/shadow", "/etc/ssl/private", "/etc/gone", NULL};
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.masked = masked;
	p = built(&r);
	assert_mount(&p, "/etc/shadow", MOUNT_BLANK);
	assert_mount(&p, "/etc/ssl/private", MOUNT_TMPFS);
	assert_null(at(&p, "/etc/gone"));
	file_plan_free(&p);
}

/* greywall#83: systemd-resolved's resolv.conf is a link into the host's /run. */
static void the_resolver_of_the_sandbox_stands_where_the_link_leads(void **state)
{
	struct file_request r = in("/home/u/p");
	struct file_plan p = built(&r);

	assert_mount(&p, "/run/systemd/resolve/stub-resolv.conf", MOUNT_TEXT);
	assert_mount(&p, "/etc/hosts", MOUNT_TEXT);
	assert_int_equal(file_plan_look(&p, &table, "/etc/resolv.conf"), PATH_FILE);
	file_plan_free(&p);
}

static void a_file_of_ours_stands_where_the_links_lead_and_once(void **state)
{
	static const struct file_over over[] = {
		{.path = "/etc/ssl/cert.pem", .source = "/ours"},
		{.path = "/etc/ssl/bundle", .source = "/theirs"},
		{.path = "/etc/ssl/nowhere", .source = "/ours"},
		{.path = SANDBOX_FILES "/ca", .source = "/folder", .within = SANDBOX_FILES},
		{0},
	};
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.over = over;
	p = built(&r);
	assert_mount(&p, "/etc/ssl/bundle", MOUNT_RO);
	assert_string_equal(at(&p, "/etc/ssl/bundle")->source, "/ours");
	assert_true(at(&p, "/etc/ssl/bundle")->checked);
	assert_null(at(&p, "/etc/ssl/cert.pem"));
	assert_null(at(&p, "/etc/ssl/nowhere"));
	assert_mount(&p, SANDBOX_FILES "/ca", MOUNT_RO);
	file_plan_free(&p);
}

static const struct file_over browsers[] = {
	{"/etc/browser/policies/ours", "/inside", "/etc/browser", true},
	{"/etc/managed/policies/ours", "/inside", "/etc/managed", true},
	{"/etc/managed/more/ours", "/inside", "/etc/managed", true},
	{"/etc/none/policies/ours", "/inside", "/etc/none", true},
	{"/etc/moved/other/ours", "/inside", "/etc/moved", true},
	{0},
};

static void a_folder_of_the_host_is_opened_where_it_ends(void **state)
{
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.over = browsers;
	p = built(&r);
	assert_mount(&p, "/etc/browser", MOUNT_TMPFS);
	assert_mount(&p, "/etc/browser/preferences", MOUNT_RO);
	assert_mount(&p, "/etc/browser/link", MOUNT_LINK);
	assert_string_equal(at(&p, "/etc/browser/link")->source, "preferences");
	assert_null(at(&p, "/etc/browser/socket"));
	assert_mount(&p, "/etc/browser/policies/ours", MOUNT_LINK);
	assert_string_equal(at(&p, "/etc/browser/policies/ours")->source, "/inside");
	assert_mount(&p, "/etc/managed/policies", MOUNT_TMPFS);
	assert_mount(&p, "/etc/managed/policies/theirs", MOUNT_RO);
	assert_mount(&p, "/etc/managed/policies/ours", MOUNT_LINK);
	assert_mount(&p, "/etc/managed", MOUNT_TMPFS);
	assert_mount(&p, "/etc/managed/other", MOUNT_RO);
	assert_null(at(&p, "/etc/none/policies/ours"));
	assert_null(at(&p, "/etc/moved/other/ours"));
	file_plan_free(&p);
}

static void what_is_hidden_or_handed_in_is_not_opened(void **state)
{
	static const char *const hidden[] = {"/etc/browser", NULL};
	static const char *const handed[] = {"/etc/managed", NULL};
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	r.over = browsers;
	r.hide = hidden;
	r.rw = handed;
	p = built(&r);
	assert_null(at(&p, "/etc/browser/policies/ours"));
	assert_null(at(&p, "/etc/managed/policies/ours"));
	assert_mount(&p, "/etc/managed", MOUNT_RW);
	file_plan_free(&p);
}

static bool endless(const void *ctx, const char *path, bool (*fn)(void *arg, const char *name),
		    void *arg)
{
	for (size_t i = 0; i < 1000; i++)
		if (!fn(arg, "preferences"))
			return false;
	return true;
}

static void a_folder_with_too_much_in_it_is_left_alone(void **state)
{
	struct tree crowded = table;
	struct file_request r = in("/home/u/p");
	struct file_plan p;

	crowded.each = endless;
	r.host = &crowded;
	r.over = browsers;
	p = built(&r);
	assert_null(at(&p, "/etc/browser"));
	assert_null(at(&p, "/etc/browser/policies/ours"));
	file_plan_free(&p);
}

static void a_command_that_only_the_person_has_is_named(void **state)
{
	static const char *const bin[] = {"/home/u/.local/bin", NULL};
	static const char path[] = "/usr/local/bin:/home/u/.local/bin:/usr/bin";
	struct file_request r = in("/home/u/p");
	struct file_plan p = built(&r);
	struct err e;

	assert_true(command_path_check(&p, &table, "git", path, r.cwd, &e));
	assert_true(command_path_check(&p, &table, "no-such", path, r.cwd, &e));
	assert_true(command_path_check(&p, &table, "./secret", path, r.cwd, &e));
	assert_false(command_path_check(&p, &table, "tool", path, r.cwd, &e));
	assert_non_null(strstr(e.text, "--ro /home/u/.local/bin"));
	assert_false(command_path_check(&p, &table, "../.local/bin/tool", path, r.cwd, &e));
	assert_non_null(strstr(e.text, "--ro /home/u/.local/bin"));
	/* The link is seen, and what it points to is not. */
	assert_false(command_path_check(&p, &table, "agent", path, r.cwd, &e));
	assert_non_null(strstr(e.text, "--ro /home/u/.local/share"));
	file_plan_free(&p);

	r.ro = bin;
	p = built(&r);
	assert_true(command_path_check(&p, &table, "tool", path, r.cwd, &e));
	file_plan_free(&p);
}

static void paths_as_text(void **state)
{
	char out[PATH_MAX];

	assert_true(path_holds("/", "/a"));
	assert_true(path_holds("/a", "/a"));
	assert_true(path_holds("/a", "/a/b"));
	assert_false(path_holds("/a", "/ab"));
	assert_int_equal(path_depth("/"), 0);
	assert_int_equal(path_depth("/a/b"), 2);
	assert_true(path_tidy("//a/./b//", out));
	assert_string_equal(out, "/a/b");
	assert_true(path_tidy("/", out));
	assert_string_equal(out, "/");
	assert_true(path_resolve(&table, "/data/../bin/./git", out));
	assert_string_equal(out, "/usr/bin/git");
	assert_true(path_resolve(&table, "/data/link/new/file", out));
	assert_string_equal(out, "/home/u/.ssh/new/file");
	assert_true(path_resolve(&table, "/../..", out));
	assert_string_equal(out, "/");
	assert_false(path_resolve(&table, "/loop/x", out));
}

static void paths_that_do_not_fit_are_refused(void **state)
{
	static char longest[2 * PATH_MAX];
	char out[PATH_MAX];

	memset(longest, 'a', sizeof(longest) - 1);
	longest[0] = '/';
	assert_false(path_tidy(longest, out));
	assert_false(path_resolve(&table, longest, out));
	assert_false(path_join("/a", longest + 1, out));
	longest[PATH_MAX - 1] = 0;
	assert_true(path_tidy(longest, out));
	assert_true(path_resolve(&table, longest, out));
	assert_false(path_join("/a", longest + 1, out));
}

static void a_path_is_joined_with_one_slash(void **state)
{
	char out[PATH_MAX];

	assert_true(path_join("/", "a", out));
	assert_string_equal(out, "/a");
	assert_true(path_join("/a", "b", out));
	assert_string_equal(out, "/a/b");
	assert_true(path_join("/a/", "b", out));
	assert_string_equal(out, "/a/b");
	assert_true(path_join("/a", "/b", out));
	assert_string_equal(out, "/b");
	assert_true(path_join("", "b", out));
	assert_string_equal(out, "b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(upper_folders_come_before_lower_ones),
		cmocka_unit_test(the_system_is_read_only_and_the_rest_private),
		cmocka_unit_test(what_runs_outside_later_is_protected),
		cmocka_unit_test(a_link_in_the_working_directory_is_not_followed),
		cmocka_unit_test(a_named_link_of_a_sandbox_s_making_is_refused),
		cmocka_unit_test(rw_takes_a_protection_back),
		cmocka_unit_test(ro_makes_the_working_directory_read_only),
		cmocka_unit_test(named_files_keep_their_place),
		cmocka_unit_test(hide_covers_files_and_folders),
		cmocka_unit_test(paths_that_are_not_there_or_not_to_be_had_are_errors),
		cmocka_unit_test(the_registry_is_never_seen),
		cmocka_unit_test(what_is_sandgates_own_cannot_be_made),
		cmocka_unit_test(what_leads_to_sandgates_own_stays_in_its_place),
		cmocka_unit_test(a_link_on_the_way_to_sandgates_own_is_not_shared),
		cmocka_unit_test(some_working_directories_are_not_shared),
		cmocka_unit_test(other_working_directories_are),
		cmocka_unit_test(root_inside_has_its_own_home_and_may_fetch_packages),
		cmocka_unit_test(of_the_kernels_files_root_sees_fewer),
		cmocka_unit_test(a_worktrees_git_file_is_protected),
		cmocka_unit_test(a_home_that_hides_the_system_is_replaced),
		cmocka_unit_test(masked_files_are_covered),
		cmocka_unit_test(the_resolver_of_the_sandbox_stands_where_the_link_leads),
		cmocka_unit_test(a_file_of_ours_stands_where_the_links_lead_and_once),
		cmocka_unit_test(a_folder_of_the_host_is_opened_where_it_ends),
		cmocka_unit_test(what_is_hidden_or_handed_in_is_not_opened),
		cmocka_unit_test(a_folder_with_too_much_in_it_is_left_alone),
		cmocka_unit_test(a_command_that_only_the_person_has_is_named),
		cmocka_unit_test(paths_as_text),
		cmocka_unit_test(paths_that_do_not_fit_are_refused),
		cmocka_unit_test(a_path_is_joined_with_one_slash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
