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

/* The step that failed is undone as well: it may have come half way. */
static enum step_result
steps_back(struct steps *s, struct sandbox *sb)
{
	const struct step *step;

	for (;;) {
		step = &s->table[s->at];
		if (step->undo != NULL && (!s->is_probe || step->is_probed) &&
		    step->undo(sb) == STEP_WAIT)
			return STEP_WAIT;
		if (s->at == 0)
			return STEP_DONE;
		s->at--;
	}
}

enum step_result
steps_go(struct steps *s, struct sandbox *sb, struct error *e)
{
	const struct step *step;
	const char *hook = broker_hook("SANDBOXD_TEST_FAIL");
	enum step_result result;

	if (s->is_undoing)
		return steps_back(s, sb);
	for (; s->at < s->n; s->at++) {
		step = &s->table[s->at];
		if (s->is_probe && !step->is_probed)
			continue;
		result = step->run(sb, e);
		if (s->is_undoing)
			return STEP_WAIT;	/* ended from within */
		if (result == STEP_DONE && hook != NULL && !s->is_probe &&
		    strcmp(hook, step->name) == 0) {
			error_set(e, ERR_INTERNAL, "step %s failed as it "
			    "was told to", step->name);
			result = STEP_FAILED;
		}
		if (result != STEP_DONE)
			return result;
	}
	return STEP_DONE;
}
