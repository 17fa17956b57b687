/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The grammar of sandboxd.conf(5).  The front runs it once, before it gives
 * up its rights; the file belongs to the administrator.  Only what is
 * enforced parses.  The meaning of each word is in conf.c, which reports
 * errors; they are printed here, and the parse goes on to find more.
 */

%{
#include "config.h"

#include <stdlib.h>

#include "parent/parent.h"

static struct conf	*conf;
static struct spec	*spec;		/* of the block we are in */
static struct conf_rule	 rule;
static struct error	 problem;

/* Prints what a function of conf.c found wrong. */
static void
check(int rc)
{
	if (rc == -1)
		yyerror("%s%s%s", problem.message,
		    problem.fix[0] == '\0' ? "" : "; ", problem.fix);
}
%}

%union {
	char	*text;
}

%token	LISTEN ON MODE GROUP USER UIDS COUNT BACKEND ORDER DEFAULTS PROFILE
%token	PERMIT DENY ALL INCLUDE ERROR
%token	<text> STRING


%destructor { free($$); } <text>

%%

conf	: /* empty */
	| conf '\n'
	| conf INCLUDE STRING '\n' {
		check(lex_open($3, &problem));
		free($3);
	}
	| conf STRING '=' STRING '\n' {
		lex_macro($2, $4);
		free($2);
		free($4);
	}
	| conf listen '\n'
	| conf user '\n'
	| conf uids '\n'
	| conf order '\n'
	| conf defaults '\n'
	| conf profile '\n'
	| conf rule '\n'
	| conf error '\n' {
		yyerrok;
	}
	;

optnl	: /* empty */
	| optnl '\n'
	;

nl	: '\n' optnl
	;

listen	: listenon listenopts
	;

/* A text that is freed is off the stack, or an error frees it again. */
listenon : LISTEN ON STRING {
		check(conf_listen_add(conf, $3, &problem));
		free($3);
	}
	;

listenopts : /* empty */
	| listenopts MODE STRING {
		check(conf_listen_mode(conf, $3, &problem));
		free($3);
	}
	| listenopts GROUP STRING {
		check(conf_listen_group(conf, $3, &problem));
		free($3);
	}
	;

user	: USER STRING {
		check(conf_user(conf, $2, &problem));
		free($2);
	}
	;

uids	: UIDS STRING COUNT STRING {
		check(conf_uids(conf, $2, $4, &problem));
		free($2);
		free($4);
	}
	;

order	: BACKEND ORDER '{' {
		conf->norder = 0;
	} optnl names '}'
	;

names	: name optnl
	| names name optnl
	;

name	: STRING {
		check(conf_order_add(conf, $1, &problem));
		free($1);
	}
	;

defaults : DEFAULTS {
		spec = &conf->defaults;
	} '{' optnl settings last '}'
	;

profile	: profilename '{' optnl settings last '}'
	;

profilename : PROFILE STRING {
		static struct conf_profile unused;

		spec = &unused.spec;
		spec_init(spec);
		if (conf_profile_add(conf, $2, &problem) == -1)
			yyerror("%s", problem.message);
		else
			spec = &conf->profiles[conf->nprofiles - 1].spec;
		free($2);
	}
	;

settings : /* empty */
	| settings setting nl
	| settings error nl {
		yyerrok;
	}
	;

last	: /* empty */
	| setting
	;

setting	: STRING STRING {
		check(conf_spec_set(spec, $1, $2, &problem));
		free($1);
		free($2);
	}
	| BACKEND STRING {
		if (spec == &conf->defaults)
			yyerror("\"backend\" belongs in a profile; "
			    "see \"backend order\"");
		else
			check(conf_spec_set(spec, "backend", $2, &problem));
		free($2);
	}
	;

rule	: action subject ruleopts {
		check(conf_rule_add(conf, &rule, &problem));
	}
	;

action	: PERMIT {
		rule = (struct conf_rule){ .is_permit = true };
	}
	| DENY {
		rule = (struct conf_rule){ .is_permit = false };
	}
	;

subject	: ALL {
		rule.subject = SUBJECT_ALL;
	}
	| USER STRING {
		check(conf_rule_who(&rule, SUBJECT_USER, $2, &problem));
		free($2);
	}
	| GROUP STRING {
		check(conf_rule_who(&rule, SUBJECT_GROUP, $2, &problem));
		free($2);
	}
	;

ruleopts : /* empty */
	| ruleopts PROFILE STRING {
		check(conf_rule_profile(conf, &rule, $3, &problem));
		free($3);
	}
	| ruleopts BACKEND STRING {
		check(conf_rule_backend(&rule, $3, &problem));
		free($3);
	}
	;

%%

int
parse_file(const char *path, struct conf *c, struct error *e)
{
	unsigned int n;
	int rc;

	conf = c;
	if (lex_open(path, e) == -1)
		return -1;
	rc = yyparse();
	n = lex_end();
	if (rc != 0 || n != 0)
		return error_set(e, ERR_INVALID, "%s: %u error%s", path, n,
		    n == 1 ? "" : "s");
	return 0;
}
