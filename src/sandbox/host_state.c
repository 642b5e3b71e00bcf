/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/host_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "sandbox/engine/host_links.h"
#include "sandbox/path.h"
#include "sandbox/files/resolver_files.h"

enum { FILE_MAX = 4 * 1024 * 1024 };

static const char *const watched[] = {"/etc/resolv.conf", "/etc/hosts"};

/* --- the files --- */

/* A file that is not there reads as an empty one: that is what the host's resolver makes of it. */
static int read_file(const char *path, char **text, size_t *n)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	ssize_t r = 1;

	*text = NULL;
	*n = 0;
	if (fd < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	*text = malloc(FILE_MAX);
	if (!*text)
		return -ENOMEM;
	while (r > 0 && *n < FILE_MAX) {
		r = read(fd, *text + *n, FILE_MAX - *n);
		if (r > 0)
			*n += (size_t)r;
	}
	return 0;
}

static void use_setting(const struct settings *s, struct resolver_config *c)
{
	if (!s->n_resolver)
		return;
	c->n_servers = s->n_resolver < RESOLVER_SERVERS_MAX ? s->n_resolver : RESOLVER_SERVERS_MAX;
	memcpy(c->servers, s->resolver, c->n_servers * sizeof(*c->servers));
}

static int read_resolver(const struct settings *settings, struct resolver_config *c)
{
	_cleanup_free_ char *resolv = NULL, *hosts = NULL;
	size_t n_resolv, n_hosts;
	int rc = read_file(watched[0], &resolv, &n_resolv);

	if (rc == 0)
		rc = read_file(watched[1], &hosts, &n_hosts);
	if (rc)
		return rc;
	resolver_files_read_resolv(span_of(resolv, n_resolv), c);
	use_setting(settings, c);
	return resolver_files_read_hosts(span_of(hosts, n_hosts), c);
}

/* --- watching them --- */

static void watch_folder_of(int inotify, const char *path)
{
	char folder[PATH_MAX];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (!slash)
		return;
	slash[slash == folder] = 0;
	inotify_add_watch(inotify, folder,
			  IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_CLOSE_WRITE | IN_ONLYDIR);
}

/* Adding a watch again is no harm; a new target of a link gets its own. */
static void watch_files(int inotify)
{
	for (size_t i = 0; i < sg_array_len(watched); i++) {
		char real[PATH_MAX];

		watch_folder_of(inotify, watched[i]);
		if (!path_resolve(&host_tree, watched[i], real))
			continue;
		if (strcmp(real, watched[i]) != 0)
			watch_folder_of(inotify, real);
		inotify_add_watch(inotify, real, IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF);
	}
}

static void drain_inotify(int inotify)
{
	char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));

	while (read(inotify, room, sizeof(room)) > 0)
		;
}

/* --- both --- */

int host_state_open(struct host_state *h, const struct settings *settings, struct err *e)
{
	int rc;

	*h = (struct host_state){.settings = settings, .inotify = -1, .links = -1};
	h->links = host_links_watch();
	rc = read_resolver(settings, &h->resolver);
	if (rc == 0)
		rc = host_links_read(&h->prefixes);
	if (rc == 0)
		return 0;
	host_state_close(h);
	return err_set(e, "the host's resolver and addresses: %s", strerror(-rc));
}

static int follow_files(struct host_state *h)
{
	struct resolver_config fresh = {0};

	if (!h->watched)
		h->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	h->watched = true;
	/* Watched first, read second: a change in between is read once too often, never missed. */
	if (h->inotify >= 0) {
		drain_inotify(h->inotify);
		watch_files(h->inotify);
	}
	if (read_resolver(h->settings, &fresh) || resolver_config_equal(&fresh, &h->resolver)) {
		free(fresh.hosts);
		return HOST_UNCHANGED;
	}
	free(h->resolver.hosts);
	h->resolver = fresh;
	return HOST_RESOLVER;
}

static bool prefixes_equal(const struct host_prefixes *a, const struct host_prefixes *b)
{
	for (size_t i = 0; i < a->n && a->n == b->n; i++)
		if (a->prefix[i].bits != b->prefix[i].bits ||
		    !addr_equal(&a->prefix[i].addr, &b->prefix[i].addr))
			return false;
	return a->n == b->n;
}

static int follow_links(struct host_state *h)
{
	struct host_prefixes fresh;

	host_links_drain(h->links);
	if (host_links_read(&fresh) || prefixes_equal(&fresh, &h->prefixes))
		return HOST_UNCHANGED;
	h->prefixes = fresh;
	return HOST_PREFIXES;
}

int host_state_follow(struct host_state *h, bool files, bool links)
{
	int changed = HOST_UNCHANGED;

	if (files)
		changed |= follow_files(h);
	if (links && h->links >= 0)
		changed |= follow_links(h);
	return changed;
}

void host_state_close(struct host_state *h)
{
	if (h->inotify >= 0)
		close(h->inotify);
	if (h->links >= 0)
		close(h->links);
	free(h->resolver.hosts);
	*h = (struct host_state){.inotify = -1, .links = -1};
}
