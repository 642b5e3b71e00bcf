/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/secret_from.h"

#include <stdbool.h>
#include <string.h>

#include "base/nearest.h"

static bool is_letter(char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static int check_env(const char *name, struct err *e)
{
	if (!is_letter(name[0]))
		return err_set(e, "`env:` is followed by the name of a variable, such as "
				  "`env:EXAMPLE_TOKEN`");
	for (; *name; name++)
		if (!is_letter(*name) && !(*name >= '0' && *name <= '9'))
			return err_set(e, "the name of a variable holds letters, digits and `_`");
	return 0;
}

/* A relative path would be one in the project, which the sandbox may write. */
static int check_file(const char *path, struct err *e)
{
	if (path[0] != '/' && strncmp(path, "~/", 2) != 0)
		return err_set(e, "`file:` is followed by a path that begins with `/` or `~/`");
	return 0;
}

/* A quote or a `$` would be an argument as it stands, which nobody means who writes it. */
static int check_command(const char *words, struct err *e)
{
	size_t n = 0;

	for (const char *s = words; *s; s++)
		n += *s != ' ' && (s == words || s[-1] == ' ');
	if (n == 0)
		return err_set(e, "`command:` is followed by a program and its arguments, such as "
				  "`command:pass show example`");
	if (n > SECRET_ARGUMENTS_MAX)
		return err_set(e, "a command has at most %d words", SECRET_ARGUMENTS_MAX);
	if (strpbrk(words, "'\"\\$`|&;<>()*?~"))
		return err_set(e,
			       "a command is run without a shell, so quotes, `$`, `|` and the like "
			       "mean nothing; put it into a script and name that");
	words += strspn(words, " ");
	if (words[0] != '/' && memchr(words, '/', strcspn(words, " ")))
		return err_set(e, "a program is written with its whole path, or as a name that is "
				  "found by PATH");
	return 0;
}

static int check_keyring(const char *names, struct err *e)
{
	const char *slash = strchr(names, '/');

	if (!*names || slash == names || (slash && (!slash[1] || strchr(slash + 1, '/'))))
		return err_set(e, "`keyring:` is followed by SERVICE or SERVICE/ACCOUNT");
	return 0;
}

static int check_git(const char *rest, struct err *e)
{
	return *rest ? err_set(e, "write `git` alone") : 0;
}

static const struct {
	const char *word; /* with its colon, where something follows */
	int (*check)(const char *rest, struct err *e);
} kinds[] = {
	[SECRET_ENV] = {"env:", check_env},
	[SECRET_FILE] = {"file:", check_file},
	[SECRET_COMMAND] = {"command:", check_command},
	[SECRET_KEYRING] = {"keyring:", check_keyring},
	[SECRET_GIT] = {"git", check_git},
};
_Static_assert(sg_array_len(kinds) == SECRET_KINDS, "every kind has a word");

static int refuse(const char *text, struct err *e)
{
	char word[16] = "";
	struct nearest near = nearest_to(word);
	size_t n = strcspn(text, ":");

	if (n < sizeof(word) - 1) {
		memcpy(word, text, n);
		word[n] = text[n];
		for (size_t i = 0; i < SECRET_KINDS; i++)
			nearest_offer(&near, kinds[i].word);
	}
	if (near.word)
		return err_set(e, "it is no source of a secret; did you mean `%s`?", near.word);
	return err_set(e, "it is no source of a secret; write `env:NAME`, `file:PATH`, "
			  "`command:PROGRAM ARGUMENTS`, `keyring:SERVICE/ACCOUNT` or `git`; a "
			  "secret itself does not belong in a policy");
}

int secret_from_parse(const char *text, enum secret_kind *kind, const char **rest, struct err *e)
{
	if (strlen(text) > SECRET_FROM_MAX_OCTETS)
		return err_set(e, "it has more than %d characters", SECRET_FROM_MAX_OCTETS);
	for (const char *s = text; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return err_set(e, "it holds a control character");
	for (size_t i = 0; i < SECRET_KINDS; i++) {
		size_t n = strlen(kinds[i].word);

		if (strncmp(text, kinds[i].word, n) != 0)
			continue;
		if (rest)
			*rest = text + n;
		*kind = (enum secret_kind)i;
		return kinds[i].check(text + n, e);
	}
	return refuse(text, e);
}
