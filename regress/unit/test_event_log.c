/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/* Unit tests of parent/event_log.c: order, bounds, shares, spoofed keys. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "parent/parent.h"

static unsigned int	 told;

void
client_events(void)
{
	told++;
}

static struct view
params(const struct event_entry *entry)
{
	assert_non_null(entry);
	return (struct view){ entry->params.p, entry->params.n };
}

static void
text_is(struct view map, const char *key, const char *wanted)
{
	char text[64];

	assert_int_equal(map_text(map, key, text, sizeof(text)), 0);
	assert_string_equal(text, wanted);
}

static void
add(uid_t owner)
{
	event_log_add("exec", owner, "sb_0000000000000001", 1,
	    (struct view){ 0 });
}

static unsigned int
count(uid_t owner)
{
	const struct event_entry *entry;
	unsigned int n = 0;
	uint64_t seq = 0;

	while ((entry = event_log_from(seq)) != NULL) {
		assert_true(entry->seq >= seq);
		seq = entry->seq + 1;
		n += entry->owner == owner;
	}
	return n;
}

static void
event_log_empty_has_none(void **state)
{
	(void)state;
	event_log_init("boot");
	assert_int_equal(event_log_last(), 0);
	assert_int_equal(event_log_dropped(), 0);
	assert_null(event_log_from(0));
}

static void
event_log_entry_has_all_keys(void **state)
{
	struct buf b = { 0 };
	struct view map;
	uint64_t value;

	(void)state;
	put_map(&b, 3);
	put_str(&b, "code");
	put_uint(&b, 7);
	put_str(&b, "id");
	put_str(&b, "sb_ffffffffffffffff");
	put_str(&b, "boot");
	put_str(&b, "another");
	event_log_add("exit", 1000, "sb_0000000000000001", 3,
	    (struct view){ b.p, b.n });
	buf_free(&b);
	assert_int_equal(told, 1);
	map = params(event_log_from(event_log_last()));
	assert_true(scan_is_one(map));
	text_is(map, "kind", "exit");
	text_is(map, "id", "sb_0000000000000001");
	text_is(map, "boot", "boot");
	assert_int_equal(map_uint(map, "seq", &value), 0);
	assert_int_equal(value, event_log_last());
	assert_int_equal(map_uint(map, "exec", &value), 0);
	assert_int_equal(value, 3);
	assert_int_equal(map_uint(map, "code", &value), 0);
	assert_int_equal(value, 7);
	assert_true(map_find(map, "time").p != NULL);
}

static void
event_log_info_bad_left_out(void **state)
{
	static unsigned char big[EVENT_INFO_MAX + 16];
	static const unsigned char array[] = { 0x91, 0x01 };
	static const unsigned char keys[] = { 0x81, 0x01, 0x01 };
	struct buf b = { 0 };
	struct view map;

	(void)state;
	put_map(&b, 1);
	put_str(&b, "x");
	put_bin(&b, (struct view){ big, sizeof(big) });
	event_log_add("exec", 1, "sb_0000000000000001", 1,
	    (struct view){ b.p, b.n });
	buf_free(&b);
	map = params(event_log_from(event_log_last()));
	assert_true(scan_is_one(map));
	assert_null(map_find(map, "x").p);
	event_log_add("exec", 1, "sb_0000000000000001", 1,
	    (struct view){ array, sizeof(array) });
	assert_true(scan_is_one(params(event_log_from(event_log_last()))));
	event_log_add("exec", 1, "sb_0000000000000001", 1,
	    (struct view){ keys, sizeof(keys) });
	assert_true(scan_is_one(params(event_log_from(event_log_last()))));
}

static void
event_log_full_drops_oldest(void **state)
{
	uint64_t first;
	unsigned int i;

	(void)state;
	for (i = 0; i < EVENTS_KEPT; i++)
		add(i % 8);
	first = event_log_from(0)->seq;
	assert_int_equal(event_log_last() - first + 1, EVENTS_KEPT);
	add(9);
	assert_int_equal(event_log_dropped(), first);
	assert_int_equal(event_log_from(0)->seq, first + 1);
}

/* One owner's flood costs the others nothing once he has his share. */
static void
event_log_flood_spares_others(void **state)
{
	unsigned int i, before;

	(void)state;
	for (i = 0; i < EVENTS_KEPT; i++)
		add(i % 8);
	before = count(3);
	for (i = 0; i < 10 * EVENTS_KEPT; i++)
		add(77);
	assert_int_equal(count(77), EVENTS_KEPT / 4 + 1);
	assert_true(count(3) >= before / 2);
	assert_int_equal(event_log_from(0)->seq <= event_log_dropped(), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_log_empty_has_none),
		cmocka_unit_test(event_log_entry_has_all_keys),
		cmocka_unit_test(event_log_info_bad_left_out),
		cmocka_unit_test(event_log_full_drops_oldest),
		cmocka_unit_test(event_log_flood_spares_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
