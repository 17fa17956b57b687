/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The one table of options, and the parser that reads it.  Help and
 * completion come from the same table.  Nothing here is trusted or not: it
 * is what the user typed.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

#define MEMBER(o, opt, type)	((type *)((char *)(o) + (opt)->offset))

static int
set_flag(struct options *o, const struct option *opt, const char *text)
{
	(void)text;
	*MEMBER(o, opt, bool) = true;
	return 0;
}

static int
set_text(struct options *o, const struct option *opt, const char *text)
{
	*MEMBER(o, opt, const char *) = text;
	return 0;
}

static int
set_list(struct options *o, const struct option *opt, const char *text)
{
	struct list *list = MEMBER(o, opt, struct list);
	const char **words;

	words = reallocarray(list->words, list->n + 2, sizeof(*words));
	if (words == NULL)
		return -1;
	words[list->n++] = text;
	words[list->n] = NULL;
	list->words = words;
	return 0;
}

static int
set_mount(struct options *o, const struct option *opt, const char *text)
{
	if (o->nmounts == MOUNTS) {
		say("%s: --%s: more than %d directories", o->command,
		    opt->name, MOUNTS);
		return -1;
	}
	o->mounts[o->nmounts++] = (struct mount_option){ text,
	    strcmp(opt->name, "rw") == 0 };
	return 0;
}

static int
set_format(struct options *o, const struct option *opt, const char *text)
{
	(void)opt;
	if (strcmp(text, "json") != 0) {
		say("%s: -o %s: unknown format; the one there is is json",
		    o->command, text);
		return -1;
	}
	o->is_json = true;
	return 0;
}

/* A number that has to be above 0, since 0 means "not given". */
static int
set_number(struct options *o, const struct option *opt, const char *text,
    int (*parse)(const char *, uint64_t *, struct sandbox_error *))
{
	struct sandbox_error error = { 0 };
	uint64_t n;

	if (parse(text, &n, &error) == -1) {
		say("%s: --%s: %s; %s", o->command, opt->name, error.message,
		    error.fix);
		return -1;
	}
	if (n == 0) {
		say("%s: --%s: has to be more than 0", o->command, opt->name);
		return -1;
	}
	*MEMBER(o, opt, uint64_t) = n;
	return 0;
}

static int
set_size(struct options *o, const struct option *opt, const char *text)
{
	return set_number(o, opt, text, sandbox_parse_size);
}

static int
set_duration(struct options *o, const struct option *opt, const char *text)
{
	return set_number(o, opt, text, sandbox_parse_duration);
}

static int
set_milli(struct options *o, const struct option *opt, const char *text)
{
	return set_number(o, opt, text, sandbox_parse_milli);
}

static int
set_uint(struct options *o, const struct option *opt, const char *text)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0) {
		say("%s: --%s: '%s' is not a number", o->command, opt->name,
		    text);
		return -1;
	}
	*MEMBER(o, opt, uint64_t) = n;
	return 0;
}

#define AT(member)	offsetof(struct options, member)

const struct option options_table[] = {
	{ 'a', true, "all", NULL, "everything that you may see or touch",
	    set_flag, AT(is_all) },
	{ 'b', true, "backend", "NAME", "how to isolate: auto ns bwrap host",
	    set_text, AT(backend) },
	{ 'd', true, "detach", NULL, "print ID/N and leave it running",
	    set_flag, AT(is_detached) },
	{ 'e', true, "env", "NAME[=VALUE]", "set in the environment; "
	    "NAME alone: as it is here", set_list, AT(env) },
	{ 'i', true, "interactive", NULL, "with -d: standard input stays "
	    "open for attach -i; attach: send it", set_flag,
	    AT(is_interactive) },
	{ 'o', true, "output-format", "json", "one JSON object per line",
	    set_format, AT(is_json) },
	{ 'p', true, "profile", "NAME", "defaults and ceilings of "
	    "sandboxd.conf", set_text, AT(profile) },
	{ 'q', true, "quiet", NULL, "no warnings; ls: ids alone",
	    set_flag, AT(is_quiet) },
	{ 's', true, "socket", "PATH", "the daemon's socket",
	    set_text, AT(socket) },
	{ 't', true, "tty", NULL, "give it a terminal",
	    set_flag, AT(has_pty) },
	{ 'v', true, "verbose", NULL, "say what is in force",
	    set_flag, AT(is_verbose) },
	{ 'w', true, "cwd", "DIR", "directory to start in",
	    set_text, AT(cwd) },
	{ 'C', false, "cpu-time", "TIME", "processor time of a command",
	    set_duration, AT(cpu_time) },
	{ 'U', false, "cpus", "N", "processors, as in 1.5",
	    set_milli, AT(cpus) },
	{ 'F', false, "files", "N", "open files of a process",
	    set_uint, AT(files) },
	{ 'f', false, "floor", "LEVEL", "isolation at least: none "
	    "namespace kernel", set_text, AT(floor) },
	{ 'r', false, "fresh", NULL, "try everything again",
	    set_flag, AT(is_fresh) },
	{ 'I', false, "image", "NAME", "root file system",
	    set_text, AT(image) },
	{ 'l', false, "label", "NAME=VALUE", "a note kept with the sandbox",
	    set_list, AT(labels) },
	{ 'M', false, "memory", "SIZE", "memory of all its processes",
	    set_size, AT(memory) },
	{ 'n', false, "name", "NAME", "a name for the sandbox",
	    set_text, AT(name) },
	{ 'N', false, "network", "KIND", "none", set_text, AT(network) },
	{ 'O', false, "output", "SIZE", "bytes a command may write",
	    set_size, AT(output) },
	{ 'P', false, "pids", "N", "processes and threads",
	    set_uint, AT(pids) },
	{ 'R', false, "ro", "SRC[:DST]", "show a directory, read-only",
	    set_mount, 0 },
	{ 'W', false, "rw", "SRC[:DST]", "show a directory, writable",
	    set_mount, 0 },
	{ 'S', false, "signal", "SIGNAL", "to send, TERM if not given",
	    set_text, AT(signal) },
	{ 'c', false, "since", "SEQ", "events after this one",
	    set_uint, AT(since) },
	{ 'T', false, "timeout", "TIME", "time limit of a command",
	    set_duration, AT(timeout) },
	{ 'Z', false, "tmp", "SIZE", "bytes of /tmp and /workspace each",
	    set_size, AT(tmp) },
	{ 'L', false, "ttl", "TIME", "the sandbox ends after this long",
	    set_duration, AT(ttl) },
	{ 'X', false, "commands", NULL, "list the commands, for completion",
	    set_flag, AT(list_commands) },
	{ 'Y', false, "options", NULL, "list the options, for completion",
	    set_flag, AT(list_options) },
	{ 0, false, NULL, NULL, NULL, NULL, 0 }
};

static bool
option_applies(const struct command *command, const struct option *opt)
{
	return strchr(command == NULL ? "oqsv" : command->options,
	    opt->key) != NULL;
}

/* "--name", "--name=value" */
static const struct option *
option_long(const char *word, const char **value)
{
	const struct option *opt;
	size_t len = strcspn(word, "=");

	*value = word[len] == '=' ? word + len + 1 : NULL;
	for (opt = options_table; opt->key != 0; opt++)
		if (opt->name != NULL && strlen(opt->name) == len &&
		    strncmp(opt->name, word, len) == 0)
			return opt;
	return NULL;
}

static const struct option *
option_short(char letter)
{
	const struct option *opt;

	for (opt = options_table; opt->key != 0; opt++)
		if (opt->is_letter && opt->key == letter)
			return opt;
	return NULL;
}

static int
option_refuse(const struct options *o, const struct command *command,
    const char *word, const char *why)
{
	if (command != NULL)
		say("%s: %s: %s; see 'sandboxctl help %s'", o->command, word,
		    why, command->name);
	else
		say("%s: %s; see 'sandboxctl help'", word, why);
	return -1;
}

static int
option_set(struct options *o, const struct command *command,
    const struct option *opt, const char *word, const char *value)
{
	if (opt == NULL)
		return option_refuse(o, command, word, "unknown option");
	if (!option_applies(command, opt))
		return option_refuse(o, command, word,
		    "does not go with this command");
	if (opt->arg == NULL && value != NULL)
		return option_refuse(o, command, word, "takes no value");
	if (opt->arg != NULL && value == NULL)
		return option_refuse(o, command, word, "needs a value");
	return opt->set(o, opt, value);
}

/* One word of options; *next: the one behind it, taken if it is a value. */
static int
option_word(struct options *o, const struct command *command,
    const char *word, char ***next)
{
	const struct option *opt;
	const char *p, *value;

	if (word[1] == '-') {
		opt = option_long(word + 2, &value);
		if (opt != NULL && opt->arg != NULL && value == NULL &&
		    **next != NULL)
			value = *(*next)++;
		return option_set(o, command, opt, word, value);
	}
	for (p = word + 1; *p != '\0'; p++) {
		opt = option_short(*p);
		value = NULL;
		if (opt != NULL && opt->arg != NULL) {
			if (p[1] != '\0')
				value = p + 1;
			else if (**next != NULL)
				value = *(*next)++;
		}
		if (option_set(o, command, opt, word, value) == -1)
			return -1;
		if (value != NULL)
			break;
	}
	return 0;
}

int
option_parse(struct options *o, const struct command *command, char **words)
{
	char **next = words;
	int n = 0, head = command == NULL ? 0 : command->head;

	while (*next != NULL) {
		if (strcmp(*next, "--") == 0 && (head == -1 || n <= head)) {
			next++;
			break;
		}
		if ((*next)[0] != '-' || (*next)[1] == '\0') {
			if (head != -1 && n == head)
				break;
			words[n++] = *next++;
			continue;
		}
		next++;
		if (option_word(o, command, next[-1], &next) == -1)
			return -1;
	}
	while (*next != NULL)
		words[n++] = *next++;
	words[n] = NULL;
	return n;
}
