/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/image_annotations.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "sandbox/settings/trusted_file.h"

/* --- the parts that parse --- */

static bool is_hex(const char *s)
{
	size_t n = strspn(s, "0123456789abcdef");

	return !s[n] && n < IMAGE_ID_SIZE;
}

int image_of_container(struct span list, const char *container, char out[IMAGE_ID_SIZE])
{
	json_t *root = json_loadb((const char *)list.p, list.n, 0, NULL), *one;
	int rc = json_is_array(root) ? 0 : -1;
	size_t i;

	*out = 0;
	json_array_foreach(root, i, one)
	{
		const char *id = json_string_value(json_object_get(one, "id"));
		const char *image = json_string_value(json_object_get(one, "image"));

		if (!id || strcmp(id, container) != 0)
			continue;
		rc = image && !is_hex(image) ? -1 : 1;
		if (rc == 1)
			snprintf(out, IMAGE_ID_SIZE, "%s", image ? image : "");
		break;
	}
	json_decref(root);
	return rc;
}

int image_manifest_has_ours(struct span manifest)
{
	json_t *root = json_loadb((const char *)manifest.p, manifest.n, 0, NULL), *value;
	int rc = json_is_object(root) ? 0 : -1;
	const char *name;

	json_object_foreach(json_object_get(root, "annotations"), name,
			    value) if (strncmp(name, "sandgate.", strlen("sandgate.")) == 0) rc = 1;
	json_decref(root);
	return rc;
}

/* --- where they are --- */

struct store {
	char root[PATH_MAX];
	char driver[64];
};

/* ROOT/DRIVER-containers/CONTAINER/userdata, and nothing else. */
static bool split_bundle(const char *bundle, const char *container, struct store *out)
{
	static const char kind[] = "-containers/";
	char end[512];
	int n = snprintf(end, sizeof(end), "%s%s/userdata", kind, container);
	size_t all = strlen(bundle), driver;
	const char *dash, *slash;

	if (n >= (int)sizeof(end) || all < (size_t)n || all >= PATH_MAX ||
	    strcmp(bundle + all - n, end) != 0)
		return false;
	dash = bundle + all - n;
	slash = memrchr(bundle, '/', (size_t)(dash - bundle));
	driver = slash ? (size_t)(dash - slash - 1) : 0;
	if (driver == 0 || driver >= sizeof(out->driver))
		return false;
	snprintf(out->root, sizeof(out->root), "%.*s", (int)(slash - bundle), bundle);
	snprintf(out->driver, sizeof(out->driver), "%.*s", (int)driver, slash + 1);
	return true;
}

/* 0 and the text; -ENOENT; -1 when it is not one that can be trusted. */
static int read_own(int folder, const char *name, struct trusted_text *out)
{
	struct trusted_request r = {
		.folder = folder,
		.name = name,
		.shown = name,
		.owner = OWNER_ROOT_OR_PERSON,
		.max = IMAGE_FILE_MAX,
	};
	struct err why;

	return trusted_file_read(&r, out, &why);
}

static int open_folder(const struct store *s, const char *kind, const char *name)
{
	char path[PATH_MAX + 160];

	snprintf(path, sizeof(path), "%s/%s-%s/%s", s->root, s->driver, kind, name);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int find_image(const struct store *s, const char *container, char out[IMAGE_ID_SIZE])
{
	static const char *const lists[] = {"containers.json", "volatile-containers.json"};
	_cleanup_fd_ int folder = open_folder(s, "containers", "");
	int rc = 0;

	for (size_t i = 0; i < sg_array_len(lists) && rc == 0; i++) {
		struct trusted_text t;
		int got = folder < 0 ? -1 : read_own(folder, lists[i], &t);

		if (got == -ENOENT)
			continue;
		rc = got ? -1 : image_of_container(trusted_span(&t), container, out);
		if (got == 0)
			free(t.p);
	}
	return rc;
}

static bool is_manifest(const char *name)
{
	static const char *const starts[] = {"manifest", "=bWFuaWZlc3Q"};

	for (size_t i = 0; i < sg_array_len(starts); i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

/* As image_manifest_has_ours(). */
static int look_at_manifest(int folder, const char *name)
{
	struct trusted_text t;
	int rc;

	if (read_own(folder, name, &t))
		return -1;
	rc = image_manifest_has_ours(trusted_span(&t));
	free(t.p);
	return rc;
}

/* The same of all that there are; -1 when there is none. */
static int look_at_manifests(const struct store *s, const char *image)
{
	DIR *d = folder_list(open_folder(s, "images", image));
	struct dirent *entry;
	int rc = 0, seen = 0;

	if (!d)
		return -1;
	while (rc == 0 && (entry = readdir(d)))
		if (is_manifest(entry->d_name)) {
			rc = look_at_manifest(dirfd(d), entry->d_name);
			seen++;
		}
	closedir(d);
	return seen ? rc : -1;
}

int image_annotations_check(const char *bundle, const char *container, struct err *e)
{
	char image[IMAGE_ID_SIZE];
	struct store s;
	int rc = split_bundle(bundle, container, &s) ? find_image(&s, container, image) : -1;

	if (rc == 1)
		rc = *image ? look_at_manifests(&s, image) : 0;
	else
		rc = -1;
	if (rc == 1)
		return err_set(e, "the image itself carries an annotation sandgate.*, which is for "
				  "whoever runs it to give; use an image without, or `sandgate run "
				  "--engine podman`");
	if (rc < 0)
		return err_set(
			e,
			"%s: whether the image carries annotations of its own cannot be found "
			"out there; use `sandgate run --engine podman`",
			bundle);
	return 0;
}
