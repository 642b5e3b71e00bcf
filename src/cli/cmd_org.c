/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "policy/decide.h"
#include "sandbox/log/host_log.h"
#include "sandbox/settings/organisation_files.h"
#include "sandbox/settings/organisation_key.h"
#include "sandbox/person.h"
#include "sandbox/run.h"
#include "sandbox/settings/sources.h"
#include "sandbox/who.h"

static const char private_name[] = "policy.key", public_name[] = ORGANISATION_KEY;

/* --- files of the person's, by name --- */

/* Of whoever it is: what counts is checked by its signature. 0 or -1 with the message. */
static int read_named(const char *path, struct trusted_text *out, struct err *e)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	ssize_t n = 1;
	struct stat st;

	*out = (struct trusted_text){0};
	if (fd < 0 && errno == ENOENT)
		return err_set(e, "%s: there is no such file; correct the path, or make it first",
			       path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, "%s: %s", path, err_why(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > ORGANISATION_FILE_MAX)
		return err_set(e, "%s: it is no file of at most %d MiB", path,
			       ORGANISATION_FILE_MAX >> 20);
	out->p = malloc((size_t)st.st_size + 1);
	while (out->p && n > 0 && out->n < (size_t)st.st_size) {
		n = read(fd, out->p + out->n, (size_t)st.st_size - out->n);
		out->n += n > 0 ? (size_t)n : 0;
	}
	if (out->p && n > 0) {
		out->p[out->n] = 0;
		return 0;
	}
	err_set(e, "%s: %s", path, out->p ? "it cannot be read whole" : "out of memory");
	free(out->p);
	*out = (struct trusted_text){0};
	return -1;
}

/* A new file; one that is there is left alone. */
static int write_new(const char *folder, const char *name, const char *text, mode_t mode,
		     struct err *e)
{
	char path[PATH_MAX];
	size_t n = strlen(text);
	int fd = -1;
	bool ok;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path))
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0 && errno == EEXIST)
		return err_set(e,
			       "%s: it is there already, and a key is never overwritten; move it "
			       "away, or name another folder with --out",
			       path);
	if (fd < 0)
		return err_set(e, "%s/%s: %s", folder, name, err_why(errno));
	ok = write(fd, text, n) == (ssize_t)n && fsync(fd) == 0;
	close(fd);
	if (ok)
		return 0;
	unlink(path);
	return err_set(e, "%s: it could not be written", path);
}

/* --- keygen --- */

int cmd_org_keygen(const struct args *a)
{
	const char *out = args_value(a, ORG_KEYGEN_OUT);
	char *private_pem, *public_pem;
	struct err e;
	int rc;

	out = out ? out : ".";
	if (organisation_key_make(&private_pem, &public_pem, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	rc = write_new(out, private_name, private_pem, 0600, &e) ||
	     write_new(out, public_name, public_pem, 0644, &e);
	organisation_key_free(private_pem);
	organisation_key_free(public_pem);
	if (rc)
		return cli_fail(EXIT_SANDGATE, &e);
	printf("%s/%s   keep it where nobody else reads it: it signs the policy\n"
	       "%s/%s   install it on the machines: sandgate org install FILE --pub %s/%s\n",
	       out, private_name, out, public_name, out, public_name);
	return 0;
}

/* --- the policy itself --- */

/* Parsed with the catalogue that this machine has. */
static int check_policy(const struct trusted_text *text, const char *file, struct err *e)
{
	struct organisation o;
	struct sources s;
	int rc;

	if (sources_read_catalogue(&s, e))
		return -1;
	rc = organisation_parse(trusted_span(text), file, s.catalogue, &o, e);
	sources_free(&s);
	if (rc == 0)
		organisation_free(&o);
	return rc;
}

/* --- sign --- */

/* PATH.sig, beside the file. */
static int write_signature(const char *path, const char *text, struct err *e)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;
	_cleanup_fd_ int fd = open(folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];
	int rc = fd < 0 ? -errno : 0;

	if ((size_t)snprintf(name, sizeof(name), "%s.sig", slash ? slash + 1 : path) >=
	    sizeof(name))
		rc = -ENAMETOOLONG;
	if (rc == 0)
		rc = trusted_file_replace(fd, name, span_of_string(text), 0644);
	if (rc)
		return err_set(e, "%s.sig: %s", path, err_why(-rc));
	printf("%s.sig\n", path);
	return 0;
}

static int sign(const char *key_path, const char *path, struct err *e)
{
	char signature[ORGANISATION_SIGNATURE_TEXT + 2];
	struct trusted_text key, text = {0};
	int rc = -1;

	if (read_named(key_path, &key, e))
		return -1;
	if (read_named(path, &text, e) == 0 && check_policy(&text, path, e) == 0)
		rc = organisation_key_sign(trusted_span(&key), key_path, trusted_span(&text),
					   signature, e);
	explicit_bzero(key.p, key.n);
	free(key.p);
	free(text.p);
	return rc ? -1 : write_signature(path, signature, e);
}

int cmd_org_sign(const struct args *a)
{
	struct err e;

	if (!args_has(a, ORG_SIGN_KEY)) {
		err_set(&e, "org sign: which key? write --key %s", private_name);
		return cli_fail(EXIT_USAGE, &e);
	}
	return sign(args_value(a, ORG_SIGN_KEY), a->words[0], &e) ? cli_fail(EXIT_USAGE, &e) : 0;
}

/* --- install --- */

/* The key that is there already stays unless another is named. */
static int load_key(const char *path, struct trusted_text *out, struct err *e)
{
	struct organisation_files there;

	if (path)
		return read_named(path, out, e);
	if (organisation_files_load(&there, e))
		return -1;
	*out = there.key;
	there.key = (struct trusted_text){0};
	organisation_files_free(&there);
	if (out->p)
		return 0;
	return err_set(e, "org install: no key is installed yet; name it with --pub %s",
		       public_name);
}

static int load_set(const struct args *a, struct organisation_files *f, struct err *e)
{
	const char *path = a->words[0], *sig = args_value(a, ORG_INSTALL_SIG);
	char beside[PATH_MAX];

	*f = (struct organisation_files){0};
	snprintf(beside, sizeof(beside), "%s.sig", path);
	if (read_named(path, &f->policy, e) || read_named(sig ? sig : beside, &f->signature, e) ||
	    load_key(args_value(a, ORG_INSTALL_PUB), &f->key, e))
		return -1;
	if (organisation_key_verify(trusted_span(&f->key), public_name, trusted_span(&f->policy),
				    trusted_span(&f->signature), e)) {
		err_prefix(e, "%s", path);
		return -1;
	}
	return check_policy(&f->policy, path, e);
}

static json_t *policy_of(const struct trusted_text *text)
{
	json_t *policy = text->p ? json_loadb(text->p, text->n, 0, NULL) : NULL;

	return policy ? policy : json_null();
}

static int install(const struct organisation_files *f, struct err *e)
{
	struct organisation_files before = {0};
	struct err unread;
	json_t *entry;

	/* What cannot be read is replaced: installing is how it is mended. */
	if (organisation_files_load(&before, &unread))
		before = (struct organisation_files){0};
	if (organisation_files_install(f, e)) {
		organisation_files_free(&before);
		return -1;
	}
	entry = json_pack("{s:s, s:o, s:o, s:o}", "action", "sandgate.organisation.install", "who",
			  who_json(person_uid()), "before", policy_of(&before.policy), "after",
			  policy_of(&f->policy));
	organisation_files_free(&before);
	if (entry && host_log_append(entry, e) == 0)
		return 0;
	if (!entry)
		err_set(e, "out of memory");
	return err_prefix(e, "the policy is installed, but the host's log could not take it");
}

int cmd_org_install(const struct args *a)
{
	struct organisation_files f;
	struct err e;
	int status = 0;

	if (!person_is_root()) {
		err_set(&e, "org install: only root may install the organisation's policy; run it "
			    "with sudo");
		return cli_fail(EXIT_SANDGATE, &e);
	}
	if (load_set(a, &f, &e))
		status = cli_fail(EXIT_USAGE, &e);
	else if (install(&f, &e))
		status = cli_fail(EXIT_SANDGATE, &e);
	organisation_files_free(&f);
	return status;
}

/* --- show --- */

static json_t *rules_of(const struct organisation *o, enum effect effect)
{
	json_t *list = json_array();
	char text[RULE_TEXT_MAX];

	for (size_t i = 0; i < o->rules.n; i++)
		if (o->rules.v[i].effect == effect)
			json_array_append_new(list, json_string(rule_format(&o->rules.v[i], text)));
	return list;
}

static json_t *model_of(const struct organisation *o)
{
	json_t *removed = json_array();

	for (char *const *id = o->permissions_removed; id && *id; id++)
		json_array_append_new(removed, json_string(*id));
	return json_pack("{s:b, s:b, s:o, s:o, s:o, s:o}", "installed", o->present, "locked",
			 o->locked, "default_network",
			 o->has_default_network ? json_string(network_base_name(o->default_network))
						: json_null(),
			 "allow", rules_of(o, EFFECT_ALLOW), "deny", rules_of(o, EFFECT_DENY),
			 "permissions_removed", removed);
}

static void print_list(const char *what, const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		output_text(i ? ", " : what, STYLE_PLAIN);
		output_text(json_string_value(one), STYLE_PLAIN);
	}
	if (json_array_size(list))
		output_text("\n", STYLE_PLAIN);
}

static void print_text(const struct organisation *o, const json_t *model)
{
	if (!o->present) {
		output_text("no organisation's policy is installed\n", STYLE_PLAIN);
		return;
	}
	output_text(ORGANISATION_POLICY_PATH ": signed\n", STYLE_PLAIN);
	if (o->locked)
		output_text("locked: a person may narrow it, and not widen\n", STYLE_PLAIN);
	if (o->has_default_network)
		printf("default network: %s\n", network_base_name(o->default_network));
	print_list("denied for everyone: ", json_object_get(model, "deny"));
	print_list("allowed unless denied: ", json_object_get(model, "allow"));
	print_list("permissions removed: ", json_object_get(model, "permissions_removed"));
}

int cmd_org_show(const struct args *a)
{
	struct sources s;
	struct err e;
	json_t *model;

	if (sources_read(&s, &e))
		return cli_fail(EXIT_SANDGATE, &e);
	model = model_of(&s.organisation);
	if (args_has(a, ORG_SHOW_JSON))
		output_json(model);
	else
		print_text(&s.organisation, model);
	json_decref(model);
	sources_free(&s);
	return 0;
}
