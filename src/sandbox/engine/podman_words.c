/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/podman_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sandbox/name_list.h"
#include "sandbox/engine/root_capabilities.h"

/* `start` is executed by its descriptor: no file of ours, and none of the image's, is needed. */
#define START_ENTRYPOINT "[\"/proc/self/fd/4\",\"3\"]"
_Static_assert(PODMAN_FD_SOCKET == 3 && PODMAN_FD_START == 4, "the entry point names them");

static void put(struct name_list *l, const char *word)
{
	name_list_add(l, word);
}

static void sg_printf(2, 3) put_text(struct name_list *l, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0) {
		text = NULL;
		l->failed = true;
	}
	va_end(ap);
	if (text)
		put(l, text);
}

static void put_all(struct name_list *l, const char *const *words)
{
	for (; words && *words; words++)
		put(l, *words);
}

/* --- what it may do --- */

/*
 * No capability but those that uid 0 needs for its own files: NET_ADMIN and NET_RAW would show it
 * the link that it has, and lead nowhere else.
 */
static void put_rights(struct name_list *l, const struct podman_request *r)
{
	put(l, "--security-opt=no-new-privileges");
	put(l, "--cap-drop=ALL");
	for (size_t i = 0; r->as_root && i < root_capabilities_n; i++)
		put_text(l, "--cap-add=%s", root_capabilities[i]);
	if (r->as_root)
		put(l, "--user=0:0");
	else if (r->rootless)
		put(l, "--userns=keep-id");
}

/* --- its files --- */

/* podman takes the words of --mount apart as a line of CSV. */
static int check_path(const char *path, struct err *e)
{
	if (!strpbrk(path, ",\"\n\r"))
		return 0;
	return err_set(
		e,
		"%s: podman cannot mount a path that has a comma, a quotation mark or a line "
		"break; rename it, or leave out --engine podman",
		path);
}

static int put_bind(struct name_list *l, const char *source, const char *dest, bool ro,
		    struct err *e)
{
	if (check_path(source, e) || check_path(dest, e))
		return -1;
	put_text(l, "--mount=type=bind,src=%s,dst=%s,bind-propagation=rprivate%s", source, dest,
		 ro ? ",ro=true" : "");
	return 0;
}

/* One that only the sandbox's user writes: there is no other user inside. */
static int put_tmpfs(struct name_list *l, const char *dest, bool ro, struct err *e)
{
	if (check_path(dest, e))
		return -1;
	put_text(l, "--mount=type=tmpfs,dst=%s,tmpfs-mode=%s", dest, ro ? "0555" : "1777");
	return 0;
}

static int put_mount(struct name_list *l, const struct mount *m, struct err *e)
{
	switch (m->kind) {
	case MOUNT_RO:
	case MOUNT_RW:
		return put_bind(l, m->source, m->dest, m->kind == MOUNT_RO, e);
	case MOUNT_BLANK:
		return put_bind(l, "/dev/null", m->dest, true, e);
	case MOUNT_TMPFS:
	case MOUNT_DIR:
		return put_tmpfs(l, m->dest, m->rank == RANK_HIDE, e);
	default:
		return 0;
	}
}

static int put_mounts(struct name_list *l, const struct podman_request *r, struct err *e)
{
	for (size_t i = 0; i < r->plan->n; i++)
		if (put_mount(l, &r->plan->mounts[i], e))
			return -1;
	for (const struct file_over *o = r->over; o && o->path; o++)
		if (!o->link && put_bind(l, o->source, o->path, true, e))
			return -1;
	put_text(l, "--workdir=%s", r->plan->workdir);
	return 0;
}

/* --- all of it --- */

static void put_network(struct name_list *l, const struct podman_request *r)
{
	put(l, "--network=none");
	/* podman lets the group 0 alone have ping sockets, which need no privilege. */
	if (r->rootless && !r->as_root)
		put_text(l, "--sysctl=net.ipv4.ping_group_range=%u %u", r->gid, r->gid);
	put(l, "--no-hosts");
	if (r->ticket)
		put_text(l, "--annotation=sandgate.sandbox=%s", r->ticket);
}

static void put_process(struct name_list *l, const struct podman_request *r)
{
	/* Signals are the supervisor's to pass on, to the command and not to `start`. */
	put(l, "--sig-proxy=false");
	put(l, "--interactive");
	if (r->terminal)
		put(l, "--tty");
	put_text(l, "--preserve-fds=%d", PODMAN_FDS_END - PODMAN_FD_SOCKET);
	put(l, "--entrypoint=" START_ENTRYPOINT);
	for (char *const *env = r->env; *env; env++)
		put_text(l, "--env=%s", *env);
}

static int put_everything(struct name_list *l, const struct podman_request *r, struct err *e)
{
	put(l, "podman");
	for (const char *const *f = r->hook_folders; *f; f++)
		put_text(l, "--hooks-dir=%s", *f);
	put(l, "run");
	put(l, "--rm");
	put_text(l, "--name=sandgate-%s", r->name);
	put_text(l, "--hostname=%s", r->name);
	put_network(l, r);
	put_rights(l, r);
	put_process(l, r);
	if (put_mounts(l, r, e))
		return -1;
	put_all(l, r->words);
	put(l, "--");
	put(l, r->image);
	put_all(l, (const char *const *)r->argv);
	return l->failed ? err_set(e, "out of memory") : 0;
}

char **podman_words_make(const struct podman_request *r, struct err *e)
{
	struct name_list l = {0};

	if (put_everything(&l, r, e) == 0)
		return l.v;
	name_list_free(l.v);
	return NULL;
}
