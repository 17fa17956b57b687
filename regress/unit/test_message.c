/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * message: there is a vector of every message, it comes out as it went in,
 * and cut or changed it is refused or still within its ranges.
 */

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "regress/wire/wire.h"

/* The frame of a vector, its body n bytes of a heap copy. */
static void
frame_of(struct frame *f, const struct vector *v, const unsigned char *body,
    size_t n)
{
	memset(f, 0, sizeof(*f));
	f->type = (uint16_t)frame_type(v->data);
	f->body = (struct view){ body, n };
}

static struct view
body_of(const struct vector *v)
{
	return (struct view){ v->data.p + HEADER_SIZE,
	    v->data.n - HEADER_SIZE };
}

static void
check_round_trip(const struct vector *v, void *arg)
{
	unsigned char *seen = arg;
	struct view body = body_of(v);
	struct buf b = { 0 };
	union any_msg msg;
	struct frame f;
	struct error e;
	size_t i;

	frame_of(&f, v, body.p, body.n);
	assert_int_equal(frame_nfds(v->data), msg_info(f.type)->fds_max);
	for (i = 0; v->name[i] != '\0'; i++)
		assert_int_equal(toupper((unsigned char)v->name[i]),
		    msg_name(f.type)[i]);
	seen[f.type]++;
	memset(&msg, 0x55, sizeof(msg));
	if (msg_unpack(&f, &msg, &e) == -1)
		fail_msg("%s: %s", v->name, e.message);
	assert_int_equal(field_check(msg_info(f.type)->fields(),
	    msg_info(f.type)->nfields, &msg, &e), 0);
	msg_pack(f.type, &msg, &b);
	assert_int_equal(b.n, body.n);
	assert_memory_equal(b.p, body.p, b.n);
	assert_true(b.n <= msg_info(f.type)->body_max);
	buf_free(&b);
}

static void
message_vectors_round_trip(void **state)
{
	unsigned char seen[MSG_TYPE_MAX] = { 0 };
	unsigned int type;

	(void)state;
	wire_each("frame", check_round_trip, seen);
	for (type = 0; type < MSG_TYPE_MAX; type++)
		if ((msg_info(type) != NULL) != (seen[type] == 1))
			fail_msg("%s: %d vectors, run regress/wire/make.py",
			    msg_name(type), seen[type]);
}

static void
check_cuts(const struct vector *v, void *arg)
{
	struct view body = body_of(v);
	unsigned char *p;
	union any_msg msg;
	struct frame f;
	size_t n;

	(void)arg;
	for (n = 0; n < body.n; n++) {
		p = wire_copy(body, n);
		frame_of(&f, v, p, n);
		if (msg_unpack(&f, &msg, NULL) == 0)
			fail_msg("%s cut at %zu accepted", v->name, n);
		free(p);
	}
}

static void
message_cut_anywhere_refused(void **state)
{
	(void)state;
	wire_each("frame", check_cuts, NULL);
}

/* What was accepted is within range and packs into something equal. */
static void
check_accepted(const struct frame *f, const union any_msg *msg)
{
	const struct msg_info *info = msg_info(f->type);
	struct buf b = { 0 }, again = { 0 };
	union any_msg copy;
	struct frame g = *f;

	assert_int_equal(field_check(info->fields(), info->nfields, msg,
	    NULL), 0);
	msg_pack(f->type, msg, &b);
	g.body = (struct view){ b.p, b.n };
	assert_int_equal(msg_unpack(&g, &copy, NULL), 0);
	msg_pack(f->type, &copy, &again);
	assert_int_equal(b.n, again.n);
	assert_memory_equal(b.p, again.p, b.n);
	buf_free(&b);
	buf_free(&again);
}

static void
check_changes(const struct vector *v, void *arg)
{
	struct view body = body_of(v);
	unsigned char *p;
	union any_msg msg;
	struct frame f;
	unsigned int x;
	size_t i;

	(void)arg;
	p = wire_copy(body, body.n);
	for (i = 0; i < body.n; i++) {
		for (x = 1; x < 256; x++) {
			p[i] ^= (unsigned char)x;
			frame_of(&f, v, p, body.n);
			if (msg_unpack(&f, &msg, NULL) == 0)
				check_accepted(&f, &msg);
			p[i] ^= (unsigned char)x;
		}
	}
	free(p);
}

static void
message_changed_anywhere_exact(void **state)
{
	(void)state;
	wire_each("frame", check_changes, NULL);
}

static void
check_other_type(const struct vector *v, void *arg)
{
	struct view body = body_of(v);
	union any_msg msg;
	unsigned int type;
	struct frame f;

	(void)arg;
	frame_of(&f, v, body.p, body.n);
	for (type = 0; type <= MSG_TYPE_MAX; type++) {
		f.type = (uint16_t)type;
		if (msg_unpack(&f, &msg, NULL) == 0)
			check_accepted(&f, &msg);
		else if (msg_info(type) == NULL)
			assert_string_equal(msg_name(type), "?");
	}
}

static void
message_body_of_another_type_exact(void **state)
{
	(void)state;
	wire_each("frame", check_other_type, NULL);
}

static void
message_error_round_trip(void **state)
{
	struct msg_broker_failed m;
	struct error in, out;

	(void)state;
	error_key(&in, ERR_LIMIT, "memory", "too much");
	in.sys_errno = 12;
	error_path(&in, "/x");
	error_fix(&in, "ask for less");
	msg_from_error(&in, &m);
	msg_to_error(&m, &out);
	assert_int_equal(out.code, ERR_LIMIT);
	assert_int_equal(out.sys_errno, 12);
	assert_string_equal(out.message, "too much");
	assert_string_equal(out.key, "memory");
	assert_string_equal(out.path, "/x");
	assert_string_equal(out.fix, "ask for less");
	/* A code that we do not know, and none at all. */
	m.code = 60;
	msg_to_error(&m, &out);
	assert_int_equal(out.code, ERR_INTERNAL);
	m.code = 0;
	msg_to_error(&m, &out);
	assert_int_equal(out.code, ERR_INTERNAL);
}

static void
message_longest_error_fits(void **state)
{
	struct msg_broker_failed m;
	struct error e;

	(void)state;
	memset(&e, 'x', sizeof(e));
	e.code = ERR_BACKEND;
	e.sys_errno = 1 << 30;
	e.message[sizeof(e.message) - 1] = e.key[sizeof(e.key) - 1] =
	    e.path[sizeof(e.path) - 1] = e.fix[sizeof(e.fix) - 1] = '\0';
	msg_from_error(&e, &m);
	assert_int_equal(field_check(msg_info(MSG_BROKER_FAILED)->fields(),
	    msg_info(MSG_BROKER_FAILED)->nfields, &m, NULL), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message_vectors_round_trip),
		cmocka_unit_test(message_cut_anywhere_refused),
		cmocka_unit_test(message_changed_anywhere_exact),
		cmocka_unit_test(message_body_of_another_type_exact),
		cmocka_unit_test(message_error_round_trip),
		cmocka_unit_test(message_longest_error_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
