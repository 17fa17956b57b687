/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * A row of steps, walked forwards, and backwards from wherever it is: so a
 * create that fails anywhere and a destroy are the same walk.  Run by the
 * broker; knows nothing of what the steps do.
 */

#include <string.h>

#include "broker.h"

void
steps_undo(struct steps *s)
{
	s->is_undoing = true;
	if (s->at == s->n)
		s->at--;
}

int
steps_go(struct steps *s, struct sandbox *sb, struct error *e)
{
	const struct step *step;
	int rv;

	for (; !s->is_undoing && s->at < s->n; s->at++) {
		step = &s->table[s->at];
		if (s->is_probe && !step->is_probed)
			continue;
		rv = step->run(sb, e);
		if (s->is_undoing)
			return STEP_WAIT;	/* ended from within */
		if (rv == STEP_DONE && s->fail_at != NULL && !s->is_probe &&
		    strcmp(s->fail_at, step->name) == 0)
			rv = error_set(e, ERR_INTERNAL, "step %s failed as "
			    "it was told to", step->name);
		if (rv != STEP_DONE)
			return rv;
	}
	/* The step that failed is undone too: it may have come half way. */
	for (; s->is_undoing; s->at--) {
		step = &s->table[s->at];
		if (step->undo != NULL && (!s->is_probe || step->is_probed) &&
		    step->undo(sb) == STEP_WAIT)
			return STEP_WAIT;
		if (s->at == 0)
			break;
	}
	return STEP_DONE;
}
