/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/files/trust_layer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sandbox/files/ca_bundle.h"
#include "sandbox/files/ca_layers.h"
#include "sandbox/files/in_root.h"
#include "sandbox/files/mount_clone.h"

/* Of Debian, Ubuntu and Alpine: each *.crt there goes into a bundle that is made anew. */
#define ANCHORS_PARENT "/usr/local/share"
#define ANCHORS	       "ca-certificates"
#define ANCHOR	       "sandgate.crt"

/* What may be written into the folder while the container runs. */
#define SCRATCH_SIZE   "64m"
#define SCRATCH_INODES "65536"

/* Folders of that memory. */
#define UPPER  "upper"
#define WORK   "work"
#define BUNDLE CA_LAYERS_BUNDLE
#define JAVA   CA_LAYERS_JAVA

/* What stands for a device in the container's list of mounts. */
#define SOURCE "sandgate"

/* What is found in the image, and what is mounted before the overlay. */
struct layer {
	int folder; /* O_PATH */
	bool java;
	int bundle_tree, java_tree; /* clones */
	int scratch;		    /* the memory */
};

/* --- what is in the image --- */

static int open_real(int at, const char *path, uint64_t flags)
{
	return in_root_open(at, path, flags | O_PATH, 0, RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
}

/* 1: a file; 0: nothing is there; -1: something else, or what cannot be told. */
static int look_for_file(int at, const char *path)
{
	int fd = open_real(at, path, 0), rc;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	rc = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 1 : -1;
	close(fd);
	return rc;
}

/* In a folder of the container's own, for whoever that belongs to. 0 or -errno. */
static int make_folder(int parent, const char *name)
{
	struct stat st;

	if (fstat(parent, &st) < 0 || mkdirat(parent, name, 0755) < 0 ||
	    fchownat(parent, name, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

/* O_PATH, made where it is not there; -1 with errno. */
static int open_or_make(int parent, const char *name)
{
	int fd = open_real(parent, name, O_DIRECTORY), rc;

	if (fd >= 0 || errno != ENOENT)
		return fd;
	rc = make_folder(parent, name);
	if (rc == 0)
		return open_real(parent, name, O_DIRECTORY);
	errno = -rc;
	return -1;
}

static bool find_folder(const struct trust_site *s, struct layer *l)
{
	int bundle, java;

	l->folder = open_real(s->root, CA_LAYERS_OVER, O_DIRECTORY);
	if (l->folder < 0)
		return false;
	bundle = look_for_file(l->folder, CA_LAYERS_BUNDLE_NAME);
	java = look_for_file(l->folder, CA_LAYERS_JAVA_FOLDER "/" CA_LAYERS_JAVA_NAME);
	l->java = java == 1;
	return java >= 0 && bundle == 1;
}

/* --- mounts below it --- */

/* A path of mountinfo, in which some octets are written as octal digits, in place. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *p = path; *p; to++) {
		unsigned octet;

		if (*p == '\\' && sscanf(p + 1, "%3o", &octet) == 1) {
			*to = (char)octet;
			p += 4;
		} else {
			*to = *p++;
		}
	}
	*to = 0;
}

static bool is_at_or_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (n == 1)
		return true;
	return strncmp(path, folder, n) == 0 && (path[n] == '/' || !path[n]);
}

/* "36 35 98:0 /root /at ...", proc_pid_mountinfo(5): its number and place, or false. */
static bool take_apart(char *line, uint64_t *id, char **place)
{
	char *at = NULL, *word = strtok_r(line, " ", &at);

	*id = word ? strtoull(word, NULL, 10) : 0;
	for (int i = 0; word && i < 4; i++)
		word = strtok_r(NULL, " ", &at);
	if (word)
		unescape(word);
	*place = word;
	return word != NULL;
}

/* True where it is certain: the folder's own mount has to be one of those that the table has. */
static bool has_no_mounts_below(FILE *table, uint64_t own, const char *folder)
{
	_cleanup_free_ char *line = NULL;
	bool known = false;
	size_t room = 0;
	uint64_t id;
	char *place;

	while (getline(&line, &room, table) > 0) {
		if (!take_apart(line, &id, &place) || is_at_or_below(place, folder))
			return false;
		known = known || (id == own && is_at_or_below(folder, place));
	}
	return known;
}

static bool is_whole(const struct trust_site *s, int folder)
{
	char path[PATH_MAX], name[16];
	FILE *table = trust_site_table(s);
	bool whole = false;
	uint64_t id;
	ssize_t n;

	snprintf(name, sizeof(name), "%d", folder);
	n = readlinkat(s->descriptors, name, path, sizeof(path) - 1);
	if (table && n > 0 && trust_site_mount_id(folder, &id) == 0) {
		path[n] = 0;
		whole = has_no_mounts_below(table, id, path);
	}
	if (table)
		fclose(table);
	return whole;
}

/* --- where a new bundle is made of --- */

static bool is_anchor(int anchors)
{
	char target[sizeof(SANDBOX_CA_EXTRA)];
	ssize_t n = readlinkat(anchors, ANCHOR, target, sizeof(target));

	return n == (ssize_t)sizeof(SANDBOX_CA_EXTRA) - 1 &&
	       memcmp(target, SANDBOX_CA_EXTRA, (size_t)n) == 0;
}

/* A link that says the same in each container, which has files of its own where it leads. */
static bool put_anchor(const struct trust_site *s)
{
	_cleanup_fd_ int parent = open_real(s->root, ANCHORS_PARENT, O_DIRECTORY);
	_cleanup_fd_ int anchors = parent < 0 ? -1 : open_or_make(parent, ANCHORS);

	if (anchors < 0)
		return false;
	return symlinkat(SANDBOX_CA_EXTRA, anchors, ANCHOR) == 0 || is_anchor(anchors);
}

/* --- what is mounted before it --- */

static int configure(int fs, const char *key, const char *value)
{
	return fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0);
}

/* The file system that was configured, as a mount that is nowhere yet; -1 with errno. */
static int make_mount(int fs)
{
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static int make_memory(void)
{
	_cleanup_fd_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0 || configure(fs, "source", SOURCE) < 0 ||
	    configure(fs, "size", SCRATCH_SIZE) < 0 ||
	    configure(fs, "nr_inodes", SCRATCH_INODES) < 0 || configure(fs, "mode", "0700") < 0)
		return -1;
	return make_mount(fs);
}

/* The folder above is what the container sees: it is whose the image's is, and as open. 0 or -1. */
static int make_folders(int scratch, int folder)
{
	static const char *const names[] = {UPPER, WORK, BUNDLE, JAVA};
	struct stat st;

	for (size_t i = 0; i < sg_array_len(names); i++)
		if (mkdirat(scratch, names[i], 0700) < 0)
			return -1;
	return fstat(folder, &st) < 0 ||
			       fchownat(scratch, UPPER, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) <
				       0 ||
			       fchmodat(scratch, UPPER, st.st_mode & 07777, 0) < 0
		       ? -1
		       : 0;
}

static int open_scratch(const struct layer *l, const char *name)
{
	return openat(l->scratch, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int put_tree(const struct trust_site *s, const struct layer *l, const char *name, int tree,
		    struct err *e)
{
	_cleanup_fd_ int at = open_scratch(l, name);

	if (at < 0)
		return err_set(e, "%s: %s", CA_LAYERS_OVER, err_why(errno));
	return trust_site_put(s, tree, at, CA_LAYERS_OVER, e);
}

/* --- the overlay --- */

/* Paths are numbers of descriptors, below the working directory: nothing of the container's is a name. */
static int configure_layers(int fs, const struct layer *l)
{
	_cleanup_fd_ int upper = open_scratch(l, UPPER), work = open_scratch(l, WORK);
	_cleanup_fd_ int bundle = open_scratch(l, BUNDLE), java = open_scratch(l, JAVA);
	char lower[64], name[2][16];

	if (upper < 0 || work < 0 || bundle < 0 || java < 0)
		return -1;
	if (l->java)
		snprintf(lower, sizeof(lower), "%d:%d:%d", java, bundle, l->folder);
	else
		snprintf(lower, sizeof(lower), "%d:%d", bundle, l->folder);
	snprintf(name[0], sizeof(name[0]), "%d", upper);
	snprintf(name[1], sizeof(name[1]), "%d", work);
	return configure(fs, "lowerdir", lower) < 0 || configure(fs, "upperdir", name[0]) < 0 ||
			       configure(fs, "workdir", name[1]) < 0
		       ? -1
		       : make_mount(fs);
}

/* No attribute of a file of the image's leads to another file. */
static int make_overlay(const struct trust_site *s, const struct layer *l)
{
	static const char *const options[][2] = {{"source", SOURCE},
						 {"redirect_dir", "nofollow"},
						 {"metacopy", "off"},
						 {"index", "off"},
						 {"xino", "off"}};
	_cleanup_fd_ int fs = fsopen("overlay", FSOPEN_CLOEXEC);

	if (fs < 0 || fchdir(s->descriptors) < 0)
		return -1;
	for (size_t i = 0; i < sg_array_len(options); i++)
		if (configure(fs, options[i][0], options[i][1]) < 0)
			return -1;
	if (s->user_xattrs && fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0)
		return -1;
	return configure_layers(fs, l);
}

/* Over the image's folder stands the memory, until the overlay is made of both. */
static int make_over_scratch(const struct trust_site *s, const struct layer *l, struct err *e)
{
	int tree;

	if (put_tree(s, l, BUNDLE, l->bundle_tree, e) || put_tree(s, l, JAVA, l->java_tree, e))
		return -1;
	tree = make_overlay(s, l);
	return tree < 0 ? err_set(e, "%s: an overlay: %s", CA_LAYERS_OVER, err_why(errno)) : tree;
}

static enum trust_layered put_overlay(const struct trust_site *s, const struct layer *l,
				      struct err *e)
{
	_cleanup_fd_ int tree = -1;
	int rc;

	if (trust_site_put(s, l->scratch, l->folder, CA_LAYERS_OVER, e))
		return TRUST_LAYER_FAILED;
	tree = make_over_scratch(s, l, e);
	rc = trust_site_unmount(s, l->scratch);
	if (rc) {
		err_set(e, "%s: a mount could not be taken away: %s", CA_LAYERS_OVER, err_why(-rc));
		return TRUST_LAYER_BROKEN;
	}
	return tree < 0 || trust_site_put(s, tree, l->folder, CA_LAYERS_OVER, e)
		       ? TRUST_LAYER_FAILED
		       : TRUST_LAYER_DONE;
}

static enum trust_layered prepare_and_put(const struct trust_site *s, struct layer *l,
					  struct err *e)
{
	l->scratch = make_memory();
	if (l->scratch < 0 || make_folders(l->scratch, l->folder) < 0) {
		err_set(e, "%s: a file system in memory: %s", CA_LAYERS_OVER, err_why(errno));
		return TRUST_LAYER_FAILED;
	}
	return put_overlay(s, l, e);
}

static void close_layer(const struct layer *l)
{
	const int fds[] = {l->folder, l->bundle_tree, l->java_tree, l->scratch};

	for (size_t i = 0; i < sg_array_len(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

enum trust_layered trust_layer_put(const struct trust_site *s, int clones, struct err *e)
{
	struct layer l = {.folder = -1, .bundle_tree = -1, .java_tree = -1, .scratch = -1};
	enum trust_layered rc = TRUST_LAYER_FAILED;
	bool anchored = put_anchor(s);

	l.bundle_tree = mount_clone_take(clones, e);
	l.java_tree = l.bundle_tree < 0 ? -1 : mount_clone_take(clones, e);
	if (l.java_tree >= 0)
		rc = anchored && find_folder(s, &l) && is_whole(s, l.folder)
			     ? prepare_and_put(s, &l, e)
			     : TRUST_LAYER_NONE;
	close_layer(&l);
	return rc;
}
