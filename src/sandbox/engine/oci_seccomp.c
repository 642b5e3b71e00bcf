/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/engine/oci_seccomp.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/compiler.h"

enum { FAMILIES = 64, LOW_HALF_BITS = 32 };

static const char *const whole[] = {"socketcall", "io_uring_setup"};

/* Takes a name out of a rule's list; was it there? */
static bool take_name(json_t *names, const char *name)
{
	bool taken = false;

	for (size_t i = json_array_size(names); i-- > 0;) {
		const char *one = json_string_value(json_array_get(names, i));

		if (one && strcmp(one, name) == 0) {
			json_array_remove(names, i);
			taken = true;
		}
	}
	return taken;
}

/* --- conditions --- */

/* The operators of OCI. Negative: it is none of them. */
static int holds(const json_t *arg, int64_t family)
{
	const char *op = json_string_value(json_object_get(arg, "op"));
	int64_t value = json_integer_value(json_object_get(arg, "value"));
	int64_t two = json_integer_value(json_object_get(arg, "valueTwo"));
	const struct {
		const char *op;
		bool holds;
	} all[] = {
		{"SCMP_CMP_NE", family != value},
		{"SCMP_CMP_LT", family < value},
		{"SCMP_CMP_LE", family <= value},
		{"SCMP_CMP_EQ", family == value},
		{"SCMP_CMP_GE", family >= value},
		{"SCMP_CMP_GT", family > value},
		{"SCMP_CMP_MASKED_EQ", (family & value) == two},
	};

	for (size_t i = 0; op && i < sg_array_len(all); i++)
		if (strcmp(all[i].op, op) == 0)
			return all[i].holds;
	return -1;
}

static bool is_about_family(const json_t *arg)
{
	return json_integer_value(json_object_get(arg, "index")) == 0;
}

/* The families that the first argument's conditions admit, one bit each. -1 with the message. */
static int read_families(const json_t *args, uint64_t *out, struct err *e)
{
	json_t *arg;
	size_t i;

	*out = ~UINT64_C(0) & ~(UINT64_C(1) << AF_VSOCK);
	json_array_foreach(args, i, arg)
	{
		for (int f = 0; is_about_family(arg) && f < FAMILIES; f++) {
			int rc = holds(arg, f);

			if (rc < 0)
				return err_set(e, "a rule about socket has an operator that is "
						  "not known");
			if (rc == 0)
				*out &= ~(UINT64_C(1) << f);
		}
	}
	return 0;
}

/* Runtimes take two conditions about one argument for two rules. */
static bool has_repeated(const json_t *args)
{
	json_t *one, *other;
	size_t i, j;

	json_array_foreach(args, i, one) json_array_foreach(
		args, j,
		other) if (i < j && json_equal(json_object_get(one, "index"),
					       json_object_get(other, "index"))) return true;
	return false;
}

/* --- rules --- */

/* Of a rule, for the families from `first` on, `size` of them, a power of two that divides `first`. */
static void add_block(json_t *rules, const json_t *rule, const json_t *args, int first, int size)
{
	json_int_t mask = ((json_int_t)1 << LOW_HALF_BITS) - size;
	json_t *block = json_pack("{s:[s], s:O, s:[{s:i, s:I, s:i, s:s}]}", "names", "socket",
				  "action", json_object_get(rule, "action"), "args", "index", 0,
				  "value", mask, "valueTwo", first, "op", "SCMP_CMP_MASKED_EQ");
	json_t *value = json_object_get(rule, "errnoRet"), *arg;
	size_t i;

	if (value)
		json_object_set(block, "errnoRet", value);
	json_array_foreach(args, i, arg) if (!is_about_family(arg))
		json_array_append(json_object_get(block, "args"), arg);
	json_array_append_new(rules, block);
}

static void add_blocks(json_t *rules, const json_t *rule, const json_t *args, uint64_t families,
		       int first, int size)
{
	uint64_t all = size == FAMILIES ? ~UINT64_C(0) : (UINT64_C(1) << size) - 1;
	uint64_t here = families >> first & all;

	if (here == all)
		add_block(rules, rule, args, first, size);
	else if (here && size > 1) {
		add_blocks(rules, rule, args, families, first, size / 2);
		add_blocks(rules, rule, args, families, first + size / 2, size / 2);
	}
}

static int add_apart(json_t *rules, const json_t *rule, const json_t *args, struct err *e)
{
	uint64_t families;

	if (read_families(args, &families, e))
		return -1;
	add_blocks(rules, rule, args, families, 0, FAMILIES);
	return 0;
}

static int add_socket(json_t *rules, const json_t *rule, struct err *e)
{
	json_t *args = json_object_get(rule, "args"), *arg;
	size_t i;
	int rc = 0;

	if (!has_repeated(args))
		return add_apart(rules, rule, args, e);
	json_array_foreach(args, i, arg)
	{
		json_t *alone = json_pack("[O]", arg);

		rc = rc ? rc : add_apart(rules, rule, alone, e);
		json_decref(alone);
	}
	return rc;
}

static int take_apart(json_t *rules, json_t *rule, struct err *e)
{
	const char *action = json_string_value(json_object_get(rule, "action"));
	json_t *names = json_object_get(rule, "names");

	if (!action || !json_is_array(names))
		return err_set(e, "a rule of the filter of system calls has no names or no action");
	for (size_t i = 0; i < sg_array_len(whole); i++)
		take_name(names, whole[i]);
	if (take_name(names, "socket") && add_socket(rules, rule, e))
		return -1;
	if (json_array_size(names))
		json_array_append(rules, rule);
	return 0;
}

/* --- what is refused by itself --- */

/* Another errno than the default's: runtimes leave rules out that do what the default does. */
static int choose_errno(const json_t *seccomp)
{
	const json_t *usual = json_object_get(seccomp, "defaultErrnoRet");

	return json_integer_value(usual) == ENOSYS ? EPERM : ENOSYS;
}

/*
 * Before all others. For 32-bit x86 libseccomp makes of each rule about `socket` one about `socketcall`
 * as well, without its conditions, and none where there is one without conditions already.
 */
static void add_refusals(json_t *rules, const json_t *seccomp)
{
	for (size_t i = 0; i < sg_array_len(whole); i++)
		json_array_append_new(rules, json_pack("{s:[s], s:s, s:i}", "names", whole[i],
						       "action", "SCMP_ACT_ERRNO", "errnoRet",
						       choose_errno(seccomp)));
	json_array_append_new(rules, json_pack("{s:[s], s:s, s:i, s:[{s:i, s:I, s:i, s:s}]}",
					       "names", "socket", "action", "SCMP_ACT_ERRNO",
					       "errnoRet", EAFNOSUPPORT, "args", "index", 0,
					       "value", (json_int_t)UINT32_MAX, "valueTwo",
					       AF_VSOCK, "op", "SCMP_CMP_MASKED_EQ"));
}

int oci_seccomp_refuse_vsock(json_t *seccomp, struct err *e)
{
	json_t *before = json_object_get(seccomp, "syscalls"), *rules, *rule;
	size_t i;
	int rc = 0;

	if (!json_is_string(json_object_get(seccomp, "defaultAction")))
		return err_set(e, "the filter of system calls has no default");
	rules = json_array();
	add_refusals(rules, seccomp);
	json_array_foreach(before, i, rule) if (rc == 0) rc = take_apart(rules, rule, e);
	if (rc == 0 && json_object_set(seccomp, "syscalls", rules))
		rc = err_set(e, "out of memory");
	json_decref(rules);
	return rc;
}
