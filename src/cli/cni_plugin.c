/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cni_plugin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run_policy.h"
#include "cni/cni.h"
#include "cni/version.h"
#include "sandbox/person.h"

bool cni_plugin_is_called(int argc)
{
	return argc == 1 && getenv("CNI_COMMAND");
}

/* All of standard input, and an octet more than may be there at most. */
static enum cni_code read_input(char **out, size_t *n, struct err *e)
{
	size_t most = CNI_CONFIG_MAX + 1;
	ssize_t got = 1;

	*n = 0;
	*out = malloc(most);
	while (*out && *n < most && got) {
		got = read(STDIN_FILENO, *out + *n, most - *n);
		if (got < 0 && errno != EINTR)
			break;
		*n += got > 0 ? (size_t)got : 0;
	}
	if (*out && got >= 0)
		return CNI_OK;
	err_set(e, "standard input: %s", err_why(*out ? errno : ENOMEM));
	return CNI_IO;
}

/*
 * Who configures a network of the machine is root, and meant what it says: nobody is asked. A pod's
 * author has not root's credentials to give.
 */
static enum cni_code build_policy(const struct cni_config *c, const struct sources *s,
				  struct run_policy *out, struct err *e)
{
	bool is_file = c->policy && *c->policy == '/';
	struct policy_words words = {
		.net = is_file ? NULL : c->policy,
		.policy_file = is_file ? c->policy : NULL,
		.allow = c->allow.n ? c->allow.v : NULL,
		.deny = c->deny.n ? c->deny.v : NULL,
		.only = c->only.n ? c->only.v : NULL,
		.yes = true,
		.foreign = c->of_pod,
		.no_project = true,
	};

	return run_policy_parse(&words, s, out, e) ? CNI_BAD_CONFIG : CNI_OK;
}

static enum cni_code add(const struct cni_request *q, json_t **result, struct err *e)
{
	struct sources s;
	struct run_policy p;
	enum cni_code code;

	if (sources_read(&s, e))
		return CNI_NOT_MADE;
	code = build_policy(&q->config, &s, &p, e);
	if (!code) {
		code = cni_add(q, &p.policy, &s, result, e);
		run_policy_free(&p);
	}
	sources_free(&s);
	return code;
}

static enum cni_code carry_out(const struct cni_request *q, json_t **result, struct err *e)
{
	if (!person_is_root()) {
		err_set(e,
			"only root may change the network of a container; the runtime has to run "
			"as root");
		return CNI_NOT_MADE;
	}
	switch (q->call.command) {
	case CNI_ADD:
		return add(q, result, e);
	case CNI_CHECK:
		return cni_check(q, e);
	default:
		return cni_del(q, e);
	}
}

static int print_version(struct span text)
{
	json_t *o = json_loadb((const char *)text.p, text.n, 0, NULL);
	int status = cni_version_print(json_string_value(json_object_get(o, "cniVersion")));

	json_decref(o);
	return status;
}

static int print_result(const json_t *result)
{
	if (result && (json_dumpf(result, stdout, JSON_INDENT(4)) < 0 || putchar('\n') == EOF))
		return 1;
	return fflush(stdout) == 0 ? 0 : 1;
}

static int answer(struct cni_request *q, struct span text)
{
	json_t *result = NULL;
	struct err e = {""};
	enum cni_code code;
	int status;

	if (q->call.command == CNI_VERSION)
		return print_version(text);
	q->text = text;
	code = cni_config_parse(text, &q->config, &e);
	if (!code)
		code = carry_out(q, &result, &e);
	status = code ? cni_error_print(q->config.version, code, &e) : print_result(result);
	json_decref(result);
	cni_config_free(&q->config);
	return status;
}

int cni_plugin_main(void)
{
	static struct cni_request q;
	char *text = NULL;
	struct err e = {""};
	size_t n = 0;
	enum cni_code code = cni_call_read(getenv, &q.call, &e);
	int status;

	if (!code)
		code = read_input(&text, &n, &e);
	status = code ? cni_error_print(NULL, code, &e) : answer(&q, span_of(text, n));
	free(text);
	return status;
}
