/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permission: the catalogue of permissions, presets and agents.
 *
 * It is data (catalogue/permissions.yaml, presets.yaml, agents.yaml), compiled in; an
 * administrator's files override or add. A policy keeps the *names* of permissions, so that a host
 * that the catalogue gains reaches every sandbox that has the permission, at its next start or
 * change.
 */
#ifndef SG_POLICY_PERMISSION_H
#define SG_POLICY_PERMISSION_H

#include "policy/policy.h"

/* What a permission lets through on a host whose requests are seen (enforced by the broker). */
struct operation {
	const char *says;	    /* "clone and fetch", for a person */
	const char *host;	    /* as in `rules`; NULL: every host of the permission */
	const char *const *methods; /* NULL-terminated; NULL: every method */
	const char *const *paths; /* NULL-terminated patterns of policy/path.h; NULL: every path */
	const char *check; /* a named check of the request, of catalogue_checks; NULL: none */
	bool write;	   /* it changes something on the far side */
};

/* Operations that several permissions share, by name ("git-read"). */
struct operation_set {
	const char *name;
	const struct operation *operations;
	size_t n_operations;
};

/*
 * "graphql-query": every operation of the body is a query; "lfs-download" and "lfs-upload": the
 * operation of an LFS batch; "scope-pull" and "scope-push": the scopes of a token. NULL-terminated.
 */
extern const char *const catalogue_checks[];

struct permission {
	const char *id;		  /* "install:python" */
	const char *says;	  /* the sentence: "install Python packages (PyPI), read only" */
	const char *attempt;	  /* what an agent tried: "install Python packages (PyPI)" */
	const char *const *rules; /* hosts in the short form of a rule; NULL-terminated */
	const char *const
		*includes; /* ids it stands for as well ("install"); NULL-terminated or NULL */
	const struct operation *operations;
	size_t n_operations;
	uint16_t host_port;  /* a port of the host's loopback (model:ollama); 0: none */
	bool web;	     /* the default becomes "allow" */
	bool asks;	     /* a person is asked before it is switched on */
	const char *warning; /* what the question says; NULL unless it asks */
	bool personal;	     /* uses a credential of the person's: never part of a preset */
	const char *instead; /* it has no host by itself: what to write; else NULL */
};

struct preset {
	const char *name; /* "standard" */
	const char *says;
	const char *const *permissions; /* ids; "model", "update" and "languages" stand for the
					   agent's and the project's own */
	bool open;			/* the base is `open`, and not `deny` */
	bool asks;
	const char *warning;
};

struct agent {
	const char *name;	     /* "claude" */
	const char *const *commands; /* base names of its commands; NULL-terminated */
	const char *const *model;    /* permission ids that `model` stands for */
	const char *const
		*update; /* rules that `update` adds for this agent, beyond the permission's own */
	const char *const *sign_in; /* the same for `sign-in` */
};

struct language {
	const char *permission; /* "install:rust" */
	const char *const
		*files; /* names, or "*.csproj", in the project's folder; NULL-terminated */
};

struct catalogue {
	const char *version; /* "2026-11-29", and "+local" with an administrator's files */
	const struct permission *permissions; /* sorted by id */
	size_t n_permissions;
	const struct operation_set *operation_sets; /* sorted by name */
	size_t n_operation_sets;
	const struct preset *presets; /* locked, standard, open, bake */
	size_t n_presets;
	const struct agent *agents;
	size_t n_agents;
	const struct language *languages;
	size_t n_languages;
	void *owned; /* of catalogue_read(); NULL of the one compiled in */
};

const struct catalogue *catalogue_builtin(void);

/*
 * An administrator's file on top of `base`: permissions, presets and agents that replace those of
 * the same name, and permissions and agents that are added. YAML, as strict as a policy file; every
 * rule in it must parse. The result is freed with catalogue_free() and borrows from `base`, which
 * must outlive it. NULL with "file:line:column: ...".
 */
struct catalogue *catalogue_read(const struct catalogue *base, struct span text, const char *file,
				 struct err *e);
/* Not the one compiled in, and not what it borrows from; NULL does nothing. */
void catalogue_free(struct catalogue *c);

const struct permission *catalogue_permission(const struct catalogue *c, const char *id);
const struct preset *catalogue_preset(const struct catalogue *c, const char *name);
const struct agent *catalogue_agent(const struct catalogue *c, const char *name);
/* By the command that is run: the base name of argv[0]. NULL: no agent that is known. */
const struct agent *catalogue_agent_of_command(const struct catalogue *c, const char *command);
/* Is it a file by which a project shows that it uses the language? (a base name) */
const struct language *catalogue_language_of_file(const struct catalogue *c, const char *file);

/* Is the permission one of those that a project's files show? */
bool catalogue_is_language(const struct catalogue *c, const char *id);

/* The nearest known id, preset or base for a word that is none, or NULL. */
const char *catalogue_nearest(const struct catalogue *c, const char *word);

/* Is it an id, or a word that stands for others: "model", "languages"? */
bool catalogue_knows(const struct catalogue *c, const char *word);

/* The message for an id that is none. Returns -1. */
int catalogue_refuse_unknown(const struct catalogue *c, const char *id, struct err *e);

/* Is the permission for writing: does some operation of it change something? */
bool permission_writes(const struct permission *p);

/* Is `id` the permission `from`, or among those that it includes? */
bool catalogue_includes(const struct catalogue *c, const char *from, const char *id);

/* Is `id` what the preset holds, or included by that? `languages` counts as all of them. */
bool catalogue_preset_has(const struct catalogue *c, const struct preset *p, const char *id);

struct destination;
/* Does a rule of its own, not of what it includes, hold the destination, whatever the request? */
bool permission_covers(const struct permission *p, const struct destination *d);

/*
 * The permission that would admit a destination and is not on: one of the preset `standard` rather
 * than another, then the one with the fewest rules; never one that asks, is personal or is for
 * writing. NULL: none. `on` is resolved.on and may be NULL.
 */
const struct permission *catalogue_covering(const struct catalogue *c, const struct destination *d,
					    char *const *on);

/* ---- From names to rules (resolve.c) ---- */

/* The organisation's signed policy, as parsed; its signature is the caller's to verify. */
struct organisation {
	bool present;
	enum network_base default_network;
	bool has_default_network;
	bool locked;		    /* a person may narrow it, and not widen */
	struct rule_list rules;	    /* its allow and deny rules */
	char **permissions_removed; /* ids, or NULL */
};

/* Strict JSON with default_network, allow, deny, locked, permissions_removed. */
int organisation_parse(struct span text, const char *file, const struct catalogue *c,
		       struct organisation *o, struct err *e) sg_must_check;
void organisation_free(struct organisation *o);

/* What a policy is resolved with; all of it is borrowed, and all but the catalogue may be absent.
 */
struct policy_sources {
	const struct catalogue *catalogue;
	const struct organisation *organisation; /* NULL: none */
	const struct agent *agent;		 /* NULL: none is known */
	char *const *languages;			 /* permission ids, NULL-terminated, or NULL */
};

/*
 * Fills p->resolved (replacing what was there) from the base, the permissions and the sources. An
 * id that the catalogue does not have, a permission that the organisation removed, or anything
 * wider than a locked organisation allows is an error. Does not change the person's own words.
 */
int policy_resolve(struct policy *p, const struct policy_sources *s, struct err *e) sg_must_check;

/*
 * A policy of an older format, which listed hosts, becomes the permissions that it amounts to:
 * those all of whose hosts it lists, in whose place they stand from now on. What no permission
 * covers stays as own rules, so it is never wider than it was. One of this format stays as it is;
 * p->format says which it was until then. 0 or -1 with the message.
 */
int policy_upgrade(struct policy *p, const struct catalogue *c, struct err *e) sg_must_check;

#endif
