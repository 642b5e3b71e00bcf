/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/qemu_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sandbox/name_list.h"
#include "sandbox/engine/qemu_list.h"
#include "sandbox/engine/qemu_options.h"

struct word_reader {
	const struct qemu_request *r;
	struct qemu_words *out;
	struct name_list words, ro, rw;
	struct err *e;
};

static int add(struct word_reader *w, struct name_list *l, const char *text)
{
	name_list_add(l, text);
	return l->failed ? err_set(w->e, "out of memory") : 0;
}

/* --- files --- */

static bool is_writable(const struct word_reader *w, const char *path)
{
	char named[PATH_MAX], tidy[PATH_MAX];

	for (const char *const *rw = w->r->rw; rw && *rw; rw++)
		if (path_join(w->r->cwd, *rw, named) && path_tidy(named, tidy) &&
		    path_holds(tidy, path))
			return true;
	return false;
}

/* QEMU takes what stands before a colon for a protocol: the network, or another format. */
static bool has_protocol(const char *written)
{
	return written[strcspn(written, "/:")] == ':';
}

static int find_file(struct word_reader *w, const char *option, const char *written,
		     char out[PATH_MAX])
{
	char path[PATH_MAX];

	if (!*written)
		return err_set(w->e, "%s: the path is empty; name a file", option);
	if (has_protocol(written))
		return err_set(w->e,
			       "%s %s: only files of this machine can be named; for a file with a "
			       "colon in its name write ./ before it",
			       option, written);
	if (!path_join(w->r->cwd, written, path) || !path_tidy(path, out))
		return err_set(w->e, "%s %s: the path is too long", option, written);
	switch (w->r->host->kind(w->r->host->ctx, out)) {
	case PATH_FILE:
	case PATH_LINK:
		return 0;
	case PATH_NONE:
		return err_set(w->e, "%s %s: no such file; create it first or correct the path",
			       option, written);
	default:
		return err_set(w->e,
			       "%s %s: not a file; a machine gets no folder and no device of "
			       "the host's",
			       option, written);
	}
}

static int take_file(struct word_reader *w, const char *option, const char *value)
{
	char path[PATH_MAX];

	if (find_file(w, option, value, path) || add(w, &w->ro, path) || add(w, &w->words, option))
		return -1;
	return add(w, &w->words, path);
}

/* --- lists --- */

struct list {
	const char *said;   /* what the person wrote, for messages */
	const char *option; /* what QEMU gets */
	bool drive;
	FILE *to;
	/* What was in it. */
	char format[QEMU_KEY_MAX], file[PATH_MAX];
	bool read_only, cdrom, snapshot;
};

static int look_at_drive(struct word_reader *w, struct list *l, const struct qemu_property *p)
{
	if (!*p->key)
		return err_set(w->e, "%s %s: write it as KEY=VALUE", l->said, p->value);
	if (!qemu_drive_knows(p->key))
		return err_set(w->e,
			       "%s: \"%s\" is not among what sandgate passes on; sandgate vm-net "
			       "runs a command line of your own",
			       l->said, p->key);
	if (strcmp(p->key, "format") == 0)
		snprintf(l->format, sizeof(l->format), "%.*s", (int)sizeof(l->format) - 1,
			 p->value);
	if (strcmp(p->key, "readonly") == 0)
		l->read_only = strcmp(p->value, "on") == 0;
	if (strcmp(p->key, "media") == 0)
		l->cdrom = strcmp(p->value, "cdrom") == 0;
	if (strcmp(p->key, "snapshot") == 0)
		l->snapshot = strcmp(p->value, "on") == 0;
	return 0;
}

static int take_property(struct word_reader *w, struct list *l, const struct qemu_property *p)
{
	if (l->drive && look_at_drive(w, l, p))
		return -1;
	if (strcmp(p->key, "file") != 0) {
		qemu_list_put(l->to, p->key, p->value);
		return 0;
	}
	if (*l->file)
		return err_set(w->e, "%s: it names two files; write one", l->said);
	if (find_file(w, l->said, p->value, l->file))
		return -1;
	qemu_list_put(l->to, p->key, l->file);
	return 0;
}

static int finish_drive(struct word_reader *w, struct list *l)
{
	bool fixed = l->read_only || l->cdrom, writable = !fixed && is_writable(w, l->file);

	if (!*l->file)
		return err_set(w->e, "%s: name its file: file=FILE,format=raw", l->said);
	if (!*l->format && !l->cdrom)
		return err_set(w->e,
			       "%s file=%s: its format is not guessed from what a guest wrote; add "
			       "format=%s",
			       l->said, l->file, qemu_format_of(l->file));
	if (*l->format && !qemu_format_is_known(l->format))
		return err_set(w->e, "%s: \"%s\" is no format of a disk; take raw or qcow2",
			       l->said, l->format);
	if (!*l->format)
		qemu_list_put(l->to, "format", "raw");
	if (l->cdrom && !l->read_only)
		qemu_list_put(l->to, "readonly", "on");
	if (!fixed && !writable && !l->snapshot)
		qemu_list_put(l->to, "snapshot", "on");
	return add(w, writable ? &w->rw : &w->ro, l->file);
}

static int take_properties(struct word_reader *w, struct list *l, const char *value)
{
	struct qemu_property p;
	int more, rc = 0;

	while (rc == 0 && (more = qemu_list_next(&value, &p)) > 0)
		rc = take_property(w, l, &p);
	if (rc == 0 && more < 0)
		rc = err_set(w->e, "%s: a value is too long", l->said);
	if (rc == 0 && l->drive)
		return finish_drive(w, l);
	return rc == 0 && *l->file ? add(w, &w->ro, l->file) : rc;
}

static int take_list(struct word_reader *w, struct list *l, const char *value)
{
	_cleanup_free_ char *text = NULL;
	size_t n = 0;
	int rc;

	l->to = open_memstream(&text, &n);
	if (!l->to)
		return err_set(w->e, "out of memory");
	rc = take_properties(w, l, value);
	if (fclose(l->to) != 0 && rc == 0)
		rc = err_set(w->e, "out of memory");
	if (rc || add(w, &w->words, l->option))
		return -1;
	return add(w, &w->words, text);
}

/* --- disks by other words --- */

const char *qemu_format_of(const char *path)
{
	static const char ending[] = ".qcow2";
	size_t n = strlen(path);

	return n >= sizeof(ending) && strcmp(path + n - (sizeof(ending) - 1), ending) == 0 ? "qcow2"
											   : "raw";
}

/* As if it had been written as a drive with this rest. */
static int take_disk(struct word_reader *w, const char *said, const char *path, const char *rest)
{
	struct list l = {.said = said, .option = "-drive", .drive = true};
	_cleanup_free_ char *value = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&value, &n);

	if (!to)
		return err_set(w->e, "out of memory");
	qemu_list_put(to, "file", path);
	fprintf(to, ",%s", rest);
	if (fclose(to) != 0)
		return err_set(w->e, "out of memory");
	return take_list(w, &l, value);
}

static int take_image(struct word_reader *w, const char *path)
{
	return take_disk(w, "--image", path,
			 strcmp(qemu_format_of(path), "qcow2") == 0 ? "format=qcow2,if=virtio"
								    : "format=raw,if=virtio");
}

/* --- words --- */

/* A list that begins with the name of what it makes. */
static int take_made(struct word_reader *w, const struct qemu_option *o, const char *said,
		     const char *value)
{
	struct qemu_property p = {0};
	const char *at = value, *instead;

	if (qemu_list_next(&at, &p) < 0)
		return err_set(w->e, "%s: a value is too long", said);
	if (*p.key && strcmp(p.key, o->kind == QEMU_DEVICE ? "driver" : "qom-type") != 0)
		return err_set(w->e, "%s %s: write what it is first", said, value);
	instead = o->kind == QEMU_DEVICE ? qemu_device_refusal(p.value)
					 : qemu_object_refusal(p.value);
	if (instead)
		return err_set(w->e, "%s %s: %s", said, p.value, instead);
	return add(w, &w->words, said) || add(w, &w->words, value) ? -1 : 0;
}

static bool is_one(const char *name, const char *a, const char *b)
{
	return strcmp(name, a) == 0 || strcmp(name, b) == 0;
}

static void note(struct qemu_words *out, const char *name, const char *value)
{
	bool machine = is_one(name, "M", "machine");

	out->machine |= machine;
	out->without_pci |= machine && strncmp(value, "microvm", strlen("microvm")) == 0;
	out->accel |= is_one(name, "accel", "enable-kvm") || (machine && strstr(value, "accel="));
	out->cpu |= strcmp(name, "cpu") == 0;
	out->memory |= strcmp(name, "m") == 0;
	out->cpus |= strcmp(name, "smp") == 0;
	out->kernel |= strcmp(name, "kernel") == 0;
	out->append |= strcmp(name, "append") == 0;
}

static int take_value(struct word_reader *w, const struct qemu_option *o, const char *said,
		      const char *value)
{
	struct list l = {.said = said, .option = said, .drive = o->kind == QEMU_DRIVE};

	switch (o->kind) {
	case QEMU_FILE:
		return take_file(w, said, value);
	case QEMU_CDROM:
		return take_disk(w, said, value, "media=cdrom");
	case QEMU_DRIVE:
	case QEMU_LISTED:
		return take_list(w, &l, value);
	case QEMU_DEVICE:
	case QEMU_OBJECT:
		return take_made(w, o, said, value);
	default:
		return add(w, &w->words, said) || add(w, &w->words, value) ? -1 : 0;
	}
}

/* One option, with its value; *at is then at the next. */
static int take_option(struct word_reader *w, const char *const **at)
{
	const char *said = *(*at)++, *value;
	const struct qemu_option *o = qemu_option_find(said + 1 + (said[1] == '-'));

	if (!o)
		return err_set(w->e,
			       "%s: not among the words that sandgate passes to QEMU; sandgate "
			       "vm-net runs a command line of your own",
			       said);
	if (o->kind == QEMU_REFUSED)
		return err_set(w->e, "%s: %s", said, o->instead);
	value = o->kind == QEMU_SWITCH ? "" : **at;
	if (!value)
		return err_set(w->e, "%s: its value is missing", said);
	note(w->out, o->name, value);
	if (o->kind == QEMU_SWITCH)
		return add(w, &w->words, said);
	(*at)++;
	return take_value(w, o, said, value);
}

static int take_words(struct word_reader *w)
{
	const char *const *at = w->r->words;

	if (w->r->image && take_image(w, w->r->image))
		return -1;
	while (at && *at) {
		if (**at != '-' || !(*at)[1])
			return err_set(w->e,
				       "%s: an option of QEMU's is wanted; a disk is named with "
				       "--image, or -drive file=FILE,format=raw",
				       *at);
		if (take_option(w, &at))
			return -1;
	}
	return 0;
}

int qemu_words_read(const struct qemu_request *r, struct qemu_words *out, struct err *e)
{
	struct word_reader w = {.r = r, .out = out, .e = e};
	int rc;

	*out = (struct qemu_words){0};
	rc = take_words(&w);
	out->words = w.words.v;
	out->ro = w.ro.v;
	out->rw = w.rw.v;
	if (rc)
		qemu_words_free(out);
	return rc;
}

void qemu_words_free(struct qemu_words *q)
{
	name_list_free(q->words);
	name_list_free(q->ro);
	name_list_free(q->rw);
	*q = (struct qemu_words){0};
}
