/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * sandboxctl: main and the one table of commands.  Runs as the user, trusts
 * the user.  Theory of operation: options and operands are read by table; a
 * command makes a control connection, and for commands inside a sandbox a
 * sandbox connection.  A program's descriptors are passed to it wherever
 * possible; session.c stays until it ends, and its status becomes ours.
 */

#include <string.h>

#include "ctl.h"

/* Keys of option.c. */
#define EVERY	"sqv"
#define CREATE	"bpnlIfNMUPFZRWLTCO"
#define EXEC	"tewTCO"

const struct command commands[] = {
	{ "attach", "ID/N", "show the output of a detached command, and end "
	    "as it ends", EVERY "i", 1, 1, -1, attach_run },
	{ "check", "", "which backends work here, and why others do not",
	    EVERY "obr", 0, 0, -1, check_run },
	{ "create", "", "create a sandbox and print its id",
	    EVERY CREATE "oe", 0, 0, -1, create_run },
	{ "events", "", "print events as they happen", EVERY "oc", 0, 0, -1,
	    events_run },
	{ "exec", "ID [--] COMMAND [ARG...]", "run a command in a sandbox",
	    EVERY EXEC "dio", 2, -1, 1, exec_run },
	{ "help", "[COMMAND]", "this, or help with a command", EVERY "oXY",
	    0, 1, -1, help_run },
	{ "info", "ID[/N]...", "all about sandboxes or commands in them",
	    EVERY "o", 1, -1, -1, info_run },
	{ "kill", "ID[/N]...", "send a signal to commands; -a: kill all that "
	    "they started", EVERY "aS", 1, -1, -1, kill_run },
	{ "ls", "[ID]", "list sandboxes, or the commands of one",
	    EVERY "ao", 0, 1, -1, ls_run },
	{ "rm", "ID...", "destroy sandboxes; -a: all of yours",
	    EVERY "a", 0, -1, -1, rm_run },
	{ "run", "[--] COMMAND [ARG...]", "run a command in a sandbox of its "
	    "own", EVERY CREATE "tewo", 1, -1, 0, run_run },
	{ "shell", "ID", "an interactive shell in a sandbox",
	    EVERY EXEC, 1, 1, -1, shell_run },
	{ "stop", "", "end the daemon; -a: and its sandboxes", EVERY "a",
	    0, 0, -1, stop_run },
	{ "version", "", "versions of this program and of the daemon",
	    EVERY "o", 0, 0, -1, version_run },
	{ "wait", "ID[/N]", "until the command or the sandbox ends, and end "
	    "as it ended", EVERY "o", 1, 1, -1, wait_run },
	{ NULL, NULL, NULL, NULL, 0, 0, 0, NULL }
};

const struct command *
command_find(const char *name)
{
	const struct command *command;

	for (command = commands; command->name != NULL; command++)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

/* --help and --version are what people try first. */
static const struct command *
command_of_word(const char *word)
{
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return command_find("help");
	if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
		return command_find("version");
	return command_find(word);
}

static int
command_run(struct options *o, const struct command *command, char **words)
{
	int n;

	o->command = command->name;
	if (words[0] != NULL && strcmp(words[0], "--help") == 0)
		return help_run(o, (char *[]){ (char *)command->name, NULL });
	if ((n = option_parse(o, command, words)) == -1)
		return EXIT_OWN;
	if (n < command->min || (command->max != -1 && n > command->max)) {
		help_usage(command);
		return EXIT_OWN;
	}
	return command->run(o, words);
}

int
main(int argc, char **argv)
{
	const struct command *command;
	struct options o = { .command = "sandboxctl" };
	char **words = argv + 1;

	stdio_open_closed();
	if (argc > 1 && (command = command_of_word(argv[1])) != NULL)
		return command_run(&o, command, argv + 2);
	if (argc < 2) {
		help_usage(NULL);
		return EXIT_OWN;
	}
	if (option_parse(&o, NULL, words) == -1)
		return EXIT_OWN;
	if (words[0] == NULL) {
		help_usage(NULL);
		return EXIT_OWN;
	}
	if ((command = command_of_word(words[0])) == NULL) {
		say("%s: no such command; see 'sandboxctl help'", words[0]);
		return EXIT_OWN;
	}
	return command_run(&o, command, words + 1);
}
