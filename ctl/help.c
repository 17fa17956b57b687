/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Help, made from the tables of commands and options, so that it is never
 * out of date; and the lists from which completion works.
 */

#include <stdio.h>
#include <string.h>

#include "ctl.h"

void
help_usage(const struct command *command)
{
	if (command == NULL)
		say("usage: sandboxctl COMMAND [OPTION...] [OPERAND...]; see "
		    "'sandboxctl help'");
	else
		say("usage: sandboxctl %s [OPTION...]%s%s; see 'sandboxctl "
		    "help %s'", command->name,
		    command->operands[0] == '\0' ? "" : " ",
		    command->operands, command->name);
}

static void
help_option(const struct option *opt)
{
	char words[64];

	snprintf(words, sizeof(words), "%c%c%s--%s%s%s",
	    opt->is_letter ? '-' : ' ', opt->is_letter ? opt->key : ' ',
	    opt->is_letter ? ", " : "  ", opt->name,
	    opt->arg == NULL ? "" : " ", opt->arg == NULL ? "" : opt->arg);
	printf("  %-28s %s\n", words, opt->help);
}

static void
help_command(const struct command *command)
{
	const struct option *opt;

	printf("sandboxctl %s [OPTION...]%s%s\n\n%c%s.\n\nOptions:\n",
	    command->name, command->operands[0] == '\0' ? "" : " ",
	    command->operands, command->help[0] & ~0x20, command->help + 1);
	for (opt = options_table; opt->key != 0; opt++)
		if (strchr(command->options, opt->key) != NULL)
			help_option(opt);
}

static void
help_overview(void)
{
	const struct command *command;

	printf("sandboxctl COMMAND [OPTION...] [OPERAND...]\n\n"
	    "Commands:\n");
	for (command = commands; command->name != NULL; command++)
		printf("  %-8s %s\n", command->name, command->help);
	printf("\n"
	    "ID is an id (sb_...), a name or a unique prefix; ID/N the Nth "
	    "command in it.\n"
	    "Exit status: the command's own; 124 a limit was reached, "
	    "125 sandboxctl failed,\n"
	    "126 cannot be executed, 127 not found, 128+N killed by signal "
	    "N.\n"
	    "Sizes are like 512M, times like 30s or 5m.  More: 'sandboxctl "
	    "help COMMAND',\n"
	    "sandboxctl(1).\n");
}

static void
help_list_options(const struct command *command)
{
	const struct option *opt;

	for (opt = options_table; opt->key != 0; opt++) {
		if (strchr(command->options, opt->key) == NULL)
			continue;
		if (opt->is_letter)
			printf("-%c\n", opt->key);
		printf("--%s\n", opt->name);
	}
}

int
help_run(struct options *o, char **words)
{
	const struct command *command = NULL;

	if (words[0] != NULL && (command = command_find(words[0])) == NULL) {
		say("help: %s: no such command; see 'sandboxctl help'",
		    words[0]);
		return EXIT_OWN;
	}
	if (o->list_commands) {
		for (command = commands; command->name != NULL; command++)
			puts(command->name);
	} else if (command == NULL)
		help_overview();
	else if (o->list_options)
		help_list_options(command);
	else
		help_command(command);
	return print_end(0);
}
