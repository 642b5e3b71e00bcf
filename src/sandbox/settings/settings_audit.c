/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/settings/settings_audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/quote.h"
#include "policy/strings.h"

enum {
	ANCHOR_WORDS_MAX = 64,
	ANCHOR_COMMAND_MAX = 8192, /* octets, with "command:" and a NUL */
	KEEP_MAX = 1000000,
	CONNECTIONS_MB_MAX = 1 << 20,
};

static void clear_anchor(struct settings *s)
{
	free(s->anchor_file);
	string_list_free(s->anchor_command);
	s->anchor_file = NULL;
	s->anchor_command = NULL;
	s->anchor_syslog = false;
}

static size_t count_words(const char *text)
{
	size_t n = 0;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		text += strcspn(text, " ");
		n++;
	}
	return n;
}

/* The words of a command, ANCHOR_WORDS_MAX at most, parted by blanks. NULL without memory. */
static char **split_command(const char *text)
{
	char **words = calloc(ANCHOR_WORDS_MAX + 1, sizeof(*words));
	_cleanup_free_ char *copy = strdup(text);
	char *save = NULL;
	size_t n = 0;

	for (char *w = words && copy ? strtok_r(copy, " ", &save) : NULL; w && n < ANCHOR_WORDS_MAX;
	     w = strtok_r(NULL, " ", &save)) {
		words[n] = strdup(w);
		if (!words[n++])
			break;
	}
	if (copy && n && words[n - 1])
		return words;
	string_list_free(words);
	return NULL;
}

int settings_read_audit_anchor(const struct value_reader *v, struct settings *s,
			       const struct node *value)
{
	const char *word;

	if (value_string(v, value, &word))
		return -1;
	if (strncmp(word, "file:/", 6) == 0 && word[6]) {
		clear_anchor(s);
		s->anchor_file = strdup(word + 5);
		return s->anchor_file ? 0 : node_error(v->d, value, v->e, "out of memory");
	}
	if (strncmp(word, "command:/", 9) == 0 && word[9]) {
		if (strlen(word) >= ANCHOR_COMMAND_MAX || count_words(word) > ANCHOR_WORDS_MAX)
			return node_error(v->d, value, v->e,
					  "the command of an anchor has %d words and %d octets at "
					  "most; put what is longer into a script",
					  ANCHOR_WORDS_MAX, ANCHOR_COMMAND_MAX - 1);
		clear_anchor(s);
		s->anchor_command = split_command(word + 8);
		return s->anchor_command ? 0 : node_error(v->d, value, v->e, "out of memory");
	}
	if (strcmp(word, "syslog") != 0 && strcmp(word, "none") != 0)
		return node_error(
			v->d, value, v->e,
			"an anchor is `syslog`, `file:/PATH`, `command:/PROGRAM ARGUMENT...` "
			"or `none`");
	clear_anchor(s);
	s->anchor_syslog = strcmp(word, "syslog") == 0;
	return 0;
}

json_t *settings_show_audit_anchor(const struct settings *s)
{
	char text[ANCHOR_COMMAND_MAX] = "command:";
	size_t used = strlen(text);

	if (s->anchor_file)
		return json_sprintf("file:%s", s->anchor_file);
	if (!s->anchor_command)
		return json_string(s->anchor_syslog ? "syslog" : "none");
	for (char *const *w = s->anchor_command; *w && used < sizeof(text); w++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
					 w == s->anchor_command ? "" : " ", *w);
	return json_string(text);
}

int settings_read_audit_keep_segments(const struct value_reader *v, struct settings *s,
				      const struct node *value)
{
	uint64_t n;

	if (value_number(v, value, 0, KEEP_MAX, &n))
		return -1;
	s->audit_keep_segments = (uint32_t)n;
	return 0;
}

json_t *settings_show_audit_keep_segments(const struct settings *s)
{
	return json_integer((json_int_t)s->audit_keep_segments);
}

int settings_read_audit_on_full(const struct value_reader *v, struct settings *s,
				const struct node *value)
{
	char shown[QUOTE_MAX];
	const char *word;

	if (value_string(v, value, &word))
		return -1;
	if (strcmp(word, "refuse") != 0 && strcmp(word, "continue") != 0)
		return node_error(v->d, value, v->e, "write `refuse` or `continue`, not %s",
				  quote_string(word, shown));
	s->audit_continue = strcmp(word, "continue") == 0;
	return 0;
}

json_t *settings_show_audit_on_full(const struct settings *s)
{
	return json_string(s->audit_continue ? "continue" : "refuse");
}

int settings_read_audit_connections_mb(const struct value_reader *v, struct settings *s,
				       const struct node *value)
{
	return value_number(v, value, 1, CONNECTIONS_MB_MAX, &s->connections_mb);
}

json_t *settings_show_audit_connections_mb(const struct settings *s)
{
	return json_integer((json_int_t)s->connections_mb);
}
