/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Words of sandboxd.conf(5), with macros and included files.  Run by the
 * front before it gives up its rights.  The files have to belong to root or
 * to the caller, and to be writable by nobody else; what is in them may still
 * be wrong in any way, and is then reported by file and line.
 *
 * Input is a stack of sources: files, and texts of macros.
 */

#include "config.h"

#include <sys/stat.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parent/parent.h"
#include "parent/parse.h"

#define SOURCES_MAX	16	/* files and macros within each other */
#define WORD_MAX	4096
#define MACROS_MAX	256

struct source {
	FILE		*file;		/* NULL: a macro's text */
	const char	*text;
	const char	*name;		/* of the file around it */
	int		 line;
	bool		 is_fresh_line;	/* nothing read after a newline */
	int		 unread;	/* a character put back, or EOF */
};

struct macro {
	char	*name;
	char	*text;
};

static struct source	 sources[SOURCES_MAX];
static int		 depth;		/* sources in use */
static struct macro	 macros[MACROS_MAX];
static size_t		 nmacros;
static unsigned int	 errors;
static const char	*token_file = "sandboxd.conf";
static int		 token_line;
static char		 token[80];	/* for "syntax error at", or "" */

static const struct {
	const char	*word;
	int		 token;
} keywords[] = {
	{ "all",	ALL },
	{ "backend",	BACKEND },
	{ "count",	COUNT },
	{ "defaults",	DEFAULTS },
	{ "deny",	DENY },
	{ "group",	GROUP },
	{ "include",	INCLUDE },
	{ "listen",	LISTEN },
	{ "mode",	MODE },
	{ "on",		ON },
	{ "order",	ORDER },
	{ "permit",	PERMIT },
	{ "profile",	PROFILE },
	{ "uids",	UIDS },
	{ "user",	USER },
};

unsigned int
lex_end(void)
{
	unsigned int n = errors;

	for (; depth > 0; depth--) {
		if (sources[depth - 1].file != NULL)
			fclose(sources[depth - 1].file);
	}
	nmacros = 0;
	errors = 0;
	return n;
}

void
yyerror(const char *fmt, ...)
{
	char text[640];
	va_list ap;
	char *p;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (strcmp(text, "syntax error") == 0) {
		if (token[0] == '\0')	/* reported when it was read */
			return;
		snprintf(text, sizeof(text), "syntax error at %s", token);
	}
	for (p = text; *p != '\0'; p++) {
		if (!isprint((unsigned char)*p))
			*p = '?';
	}
	fprintf(stderr, "%s:%d: %s\n", token_file, token_line, text);
	errors++;
}

/* Reading other people's files as root would give them our rights. */
static int
file_check(int fd, const char *path, struct error *e)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return error_sys(e, ERR_INVALID, errno, "%s", path);
	if (S_ISDIR(st.st_mode))
		return error_set(e, ERR_INVALID, "%s: is a directory", path);
	if (geteuid() != 0 || !S_ISREG(st.st_mode))
		return 0;
	if (st.st_uid != 0 && st.st_uid != getuid())
		return error_set(e, ERR_INVALID,
		    "%s: does not belong to root", path);
	if ((st.st_mode & 022) != 0)
		return error_set(e, ERR_INVALID,
		    "%s: others may write to it", path);
	return 0;
}

/* A relative path in an include is relative to the file that has it. */
static char *
path_of(const char *path)
{
	const char *outer, *slash;
	char *full;

	outer = depth > 0 ? sources[depth - 1].name : "";
	slash = strrchr(outer, '/');
	if (*path == '/' || slash == NULL)
		return xstrdup(path);
	full = xcalloc(1, (size_t)(slash - outer) + strlen(path) + 2);
	memcpy(full, outer, (size_t)(slash - outer) + 1);
	strcat(full, path);
	return full;
}

int
lex_open(const char *path, struct error *e)
{
	char *name;
	int fd;

	if (depth == SOURCES_MAX)
		return error_set(e, ERR_INVALID,
		    "%s: files include each other too deeply", path);
	name = path_of(path);
	if ((fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY)) == -1) {
		error_sys(e, ERR_INVALID, errno, "%s", name);
		goto fail;
	}
	if (file_check(fd, name, e) == -1)
		goto fail;
	sources[depth] = (struct source){ .name = name, .line = 1,
	    .is_fresh_line = true, .unread = EOF };
	if ((sources[depth].file = fdopen(fd, "r")) == NULL) {
		error_sys(e, ERR_INTERNAL, errno, "%s", name);
		goto fail;
	}
	if (depth++ == 0)
		token_file = name;
	return 0;

fail:
	fd_close(&fd);
	free(name);
	return -1;
}

/*** Macros ***/

static struct macro *
macro_find(const char *name)
{
	size_t i;

	for (i = 0; i < nmacros; i++) {
		if (strcmp(macros[i].name, name) == 0)
			return &macros[i];
	}
	return NULL;
}

void
lex_macro(const char *name, const char *text)
{
	struct macro *m;
	const char *p;

	for (p = name; isalnum((unsigned char)*p) || *p == '_'; p++)
		;
	if (*p != '\0' || p == name) {
		yyerror("\"%s\" cannot be a macro's name", name);
		return;
	}
	if ((m = macro_find(name)) == NULL) {
		if (nmacros == MACROS_MAX) {
			yyerror("more than %d macros", MACROS_MAX);
			return;
		}
		m = &macros[nmacros++];
		m->name = xstrdup(name);
	}
	/*
	 * A replaced text may still be on the stack, so it stays.  The space
	 * ends the last word and takes what is put back after it.
	 */
	m->text = xcalloc(1, strlen(text) + 2);
	memcpy(m->text, text, strlen(text));
	m->text[strlen(text)] = ' ';
}

static int
macro_push(const char *name)
{
	const struct macro *m;
	const struct source *outer = &sources[depth - 1];

	if ((m = macro_find(name)) == NULL) {
		yyerror("macro \"%s\" is not defined", name);
		return -1;
	}
	if (depth == SOURCES_MAX) {
		yyerror("macro \"%s\" contains itself", name);
		return -1;
	}
	sources[depth] = (struct source){ .text = m->text,
	    .name = outer->name, .line = outer->line, .unread = EOF };
	depth++;
	return 0;
}

/*** Characters ***/

/* The next character; EOF at the very end only. */
static int
get(void)
{
	struct source *s;
	int c;

	while (depth > 0) {
		s = &sources[depth - 1];
		if ((c = s->unread) != EOF)
			s->unread = EOF;
		else if (s->file != NULL)
			c = getc(s->file);
		else if ((c = (unsigned char)*s->text) != '\0')
			s->text++;
		else
			c = EOF;
		if (c != EOF) {
			if (c == '\n')
				s->line++;
			s->is_fresh_line = c == '\n';
			return c;
		}
		if (s->file == NULL) {
			depth--;
			continue;
		}
		if (!s->is_fresh_line) {	/* the last line lacks it */
			s->is_fresh_line = true;
			return '\n';
		}
		fclose(s->file);
		depth--;
	}
	return EOF;
}

static void
unget(int c)
{
	struct source *s;

	if (c == EOF || depth == 0)
		return;
	s = &sources[depth - 1];
	s->unread = c;
	if (c == '\n')
		s->line--;
	s->is_fresh_line = false;
}

static int
peek(void)
{
	int c;

	c = get();
	unget(c);
	return c;
}

/* White space, continued lines and comments. */
static int
get_first(void)
{
	int c;

	for (;;) {
		c = get();
		if (c == '#') {
			while (c != '\n' && c != EOF)
				c = get();
			return c;
		}
		if (c == '\\' && peek() == '\n') {
			get();
			continue;
		}
		if (c != ' ' && c != '\t' && c != '\r')
			return c;
	}
}

/*** Tokens ***/

static bool
is_word(int c)
{
	return isalnum(c) || (c != EOF && c != '\0' &&
	    strchr("._-/:@+%", c) != NULL);
}

static int
word_add(char *word, size_t *n, int c)
{
	if (*n == WORD_MAX - 1) {
		yyerror("a word is longer than %d bytes", WORD_MAX - 1);
		return -1;
	}
	word[(*n)++] = (char)c;
	word[*n] = '\0';
	return 0;
}

static int
quoted(void)
{
	char word[WORD_MAX] = "";
	size_t n = 0;
	int c;

	while ((c = get()) != '"') {
		if (c == '\\' && (peek() == '"' || peek() == '\\'))
			c = get();
		if (c == EOF || c == '\n') {
			unget(c);
			yyerror("a quoted text does not end on its line");
			return ERROR;
		}
		if (c == '\0') {
			yyerror("a text contains a zero byte");
			return ERROR;
		}
		if (word_add(word, &n, c) == -1)
			return ERROR;
	}
	snprintf(token, sizeof(token), "\"%.64s\"", word);
	yylval.text = xstrdup(word);
	return STRING;
}

static int
bare(int c)
{
	char word[WORD_MAX] = "";
	size_t i, n = 0;

	for (; is_word(c); c = get()) {
		if (word_add(word, &n, c) == -1)
			return ERROR;
	}
	unget(c);
	snprintf(token, sizeof(token), "\"%.64s\"", word);
	for (i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (strcmp(word, keywords[i].word) == 0)
			return keywords[i].token;
	}
	yylval.text = xstrdup(word);
	return STRING;
}

static int
expand(void)
{
	char word[WORD_MAX] = "";
	size_t n = 0;
	int c;

	for (c = get(); isalnum(c) || c == '_'; c = get()) {
		if (word_add(word, &n, c) == -1)
			return -1;
	}
	unget(c);
	return macro_push(word);
}

int
yylex(void)
{
	int c;

	for (;;) {
		c = get_first();
		token[0] = '\0';
		if (depth > 0) {
			token_file = sources[depth - 1].name;
			token_line = sources[depth - 1].line - (c == '\n');
		}
		if (c == '"')
			return quoted();
		if (is_word(c))
			return bare(c);
		if (c == '$') {
			if (expand() == -1)
				return ERROR;
			continue;
		}
		if (c == EOF || c == '\n')
			snprintf(token, sizeof(token), "the end of the line");
		else
			snprintf(token, sizeof(token), "\"%c\"", c);
		return c == EOF ? 0 : c == 0 ? ERROR : c;
	}
}
