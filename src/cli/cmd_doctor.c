/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/doctor.h"
#include "cli/output.h"

static const char *const status_words[] = {
	[FINDING_OK] = "ok",
	[FINDING_HINT] = "hint",
	[FINDING_MISSING] = "missing",
};
static_assert(sg_array_len(status_words) == FINDING_STATUSES, "one word for each status");

static const struct check checks[] = {
	{"kernel", true, doctor_kernel},
	{"user namespaces", true, doctor_user_namespaces},
	{"tun", true, doctor_tun},
	{"airlock", true, doctor_airlock},
	{"bubblewrap", true, doctor_bwrap},
	{"seccomp", true, doctor_seccomp},
	{"landlock", false, doctor_landlock},
	{"runtime folder", true, doctor_runtime_folder},
	{"resolver", false, doctor_resolver},
	{"ipv6", false, doctor_ipv6},
	{"ping", false, doctor_ping},
	{"open files", false, doctor_open_files},
	{"pipes", false, doctor_pipes},
	{"locked memory", false, doctor_locked_memory},
	{"certificates", false, doctor_certificates},
	{"podman", false, doctor_podman},
	{"podman rootless", false, doctor_podman_rootless},
	{"docker", false, doctor_docker},
	{"docker driver", false, doctor_docker_driver},
	{"containerd", false, doctor_containerd},
	{"cni plugin", false, doctor_cni},
	{"qemu", false, doctor_qemu},
	{"kvm", false, doctor_kvm},
};

void finding_ok(struct finding *f, const char *detail, ...)
{
	va_list ap;

	va_start(ap, detail);
	vsnprintf(f->detail, sizeof(f->detail), detail, ap);
	va_end(ap);
}

void finding_bad(struct finding *f, enum finding_status status, const char *fix, const char *detail,
		 ...)
{
	va_list ap;

	f->status = status;
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
	va_start(ap, detail);
	vsnprintf(f->detail, sizeof(f->detail), detail, ap);
	va_end(ap);
}

static json_t *finding_model(const struct check *c)
{
	struct finding f = {.status = FINDING_OK};

	c->look(&f);
	return json_pack("{s:s, s:s, s:b, s:s, s:o}", "check", c->name, "status",
			 status_words[f.status], "required", c->required, "detail", f.detail, "fix",
			 *f.fix ? json_string(f.fix) : json_null());
}

static enum style status_style(const json_t *status)
{
	const char *word = json_string_value(status);

	if (strcmp(word, status_words[FINDING_OK]) == 0)
		return STYLE_GOOD;
	return strcmp(word, status_words[FINDING_HINT]) == 0 ? STYLE_HINT : STYLE_BAD;
}

static void print_text(const json_t *rows)
{
	static const struct column columns[] = {
		{.key = "status", .style = status_style},
		{.key = "check"},
		{.key = "detail"},
	};
	size_t i;
	json_t *row;

	output_table(rows, columns, sg_array_len(columns));
	json_array_foreach(rows, i, row)
	{
		const char *fix = json_string_value(json_object_get(row, "fix"));

		if (!fix)
			continue;
		output_text(json_string_value(json_object_get(row, "check")), STYLE_STRONG);
		output_text(": ", STYLE_PLAIN);
		output_text(fix, STYLE_PLAIN);
		output_text("\n", STYLE_PLAIN);
	}
}

static bool is_fatal(const json_t *row)
{
	return json_is_true(json_object_get(row, "required")) &&
	       strcmp(json_string_value(json_object_get(row, "status")),
		      status_words[FINDING_MISSING]) == 0;
}

int cmd_doctor(const struct args *a)
{
	json_t *rows = json_array();
	bool fatal = false;

	for (size_t i = 0; i < sg_array_len(checks); i++) {
		json_t *row = finding_model(&checks[i]);

		fatal = fatal || is_fatal(row);
		json_array_append_new(rows, row);
	}
	if (args_has(a, DOCTOR_JSON))
		output_json(rows);
	else
		print_text(rows);
	json_decref(rows);
	return fatal ? 1 : 0;
}
