/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * pack and unpack: random values packed by both are the same bytes as
 * msgpack-c makes of them, and every typed read gives what msgpack-c reads.
 */

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "regress/wire/wire.h"

/* Put into ours and the oracle's buffer alike. */
struct pair {
	struct buf	 ours;
	msgpack_sbuffer	 theirs;
	msgpack_packer	 packer;
	uint64_t	 seed;
};

static void
pair_init(struct pair *p, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	msgpack_sbuffer_init(&p->theirs);
	msgpack_packer_init(&p->packer, &p->theirs, msgpack_sbuffer_write);
	p->seed = seed;
}

static void
pair_free(struct pair *p)
{
	buf_free(&p->ours);
	msgpack_sbuffer_destroy(&p->theirs);
}

static void
pair_bytes(struct pair *p, bool is_text)
{
	static const size_t sizes[] = { 0, 1, 31, 32, 255, 256, 65535,
	    65536 };
	struct view v;
	unsigned char *data;

	/* The long ones are slow: only now and then. */
	v.n = sizes[random_next(&p->seed) % (random_next(&p->seed) % 64 == 0 ?
	    8 : 6)];
	data = malloc(v.n + 1);
	assert_non_null(data);
	memset(data, 'x', v.n + 1);
	v.p = data;
	if (is_text) {
		put_str_view(&p->ours, v);
		msgpack_pack_str_with_body(&p->packer, data, v.n);
	} else {
		put_bin(&p->ours, v);
		msgpack_pack_bin_with_body(&p->packer, data, v.n);
	}
	free(data);
}

static void
pair_number(struct pair *p)
{
	uint64_t n = random_next(&p->seed);

	/* All widths alike. */
	n >>= random_next(&p->seed) % 64;
	switch (random_next(&p->seed) % 3) {
	case 0:
		put_uint(&p->ours, n);
		msgpack_pack_uint64(&p->packer, n);
		break;
	case 1:
		put_int(&p->ours, (int64_t)(0 - (n >> 1)));
		msgpack_pack_int64(&p->packer, (int64_t)(0 - (n >> 1)));
		break;
	default:
		put_double(&p->ours, (double)n / 3);
		msgpack_pack_double(&p->packer, (double)n / 3);
		break;
	}
}

static void
pair_value(struct pair *p, int depth)
{
	static const uint32_t counts[] = { 0, 1, 3, 15, 16, 300 };
	uint32_t i, n;

	switch (random_next(&p->seed) % (depth < 4 ? 8 : 6)) {
	case 0:
		put_nil(&p->ours);
		msgpack_pack_nil(&p->packer);
		break;
	case 1:
		n = random_next(&p->seed) & 1;
		put_bool(&p->ours, n);
		n ? msgpack_pack_true(&p->packer) :
		    msgpack_pack_false(&p->packer);
		break;
	case 2:
		pair_bytes(p, true);
		break;
	case 3:
		pair_bytes(p, false);
		break;
	case 4:
	case 5:
		pair_number(p);
		break;
	case 6:
		n = counts[random_next(&p->seed) % (depth == 0 ? 6 : 3)];
		put_array(&p->ours, n);
		msgpack_pack_array(&p->packer, n);
		for (i = 0; i < n; i++)
			pair_value(p, depth + 1);
		break;
	default:
		n = counts[random_next(&p->seed) % (depth == 0 ? 6 : 3)];
		put_map(&p->ours, n);
		msgpack_pack_map(&p->packer, n);
		for (i = 0; i < 2 * n; i++)
			pair_value(p, depth + 1);
		break;
	}
}

/* Reads one value by the verb of its kind and compares. */
static void
compare(struct cursor *c, const msgpack_object *o)
{
	uint32_t i, n;
	struct view v;
	uint64_t u;
	int64_t s;
	double d;
	bool b;

	switch (o->type) {
	case MSGPACK_OBJECT_NIL:
		assert_int_equal(get_nil(c), 0);
		break;
	case MSGPACK_OBJECT_BOOLEAN:
		assert_int_equal(get_bool(c, &b), 0);
		assert_int_equal(b, o->via.boolean);
		break;
	case MSGPACK_OBJECT_POSITIVE_INTEGER:
		assert_int_equal(get_uint(c, &u, UINT64_MAX), 0);
		assert_true(u == o->via.u64);
		break;
	case MSGPACK_OBJECT_NEGATIVE_INTEGER:
		assert_int_equal(get_uint(c, &u, UINT64_MAX), -1);
		assert_int_equal(get_int(c, &s), 0);
		assert_true(s == o->via.i64);
		break;
	case MSGPACK_OBJECT_FLOAT32:
	case MSGPACK_OBJECT_FLOAT64:
		assert_int_equal(get_double(c, &d), 0);
		assert_memory_equal(&d, &o->via.f64, sizeof(d));
		break;
	case MSGPACK_OBJECT_STR:
		assert_int_equal(get_str(c, &v, SIZE_MAX), 0);
		assert_int_equal(v.n, o->via.str.size);
		assert_memory_equal(v.p, o->via.str.ptr, v.n);
		break;
	case MSGPACK_OBJECT_BIN:
		assert_int_equal(get_str(c, &v, SIZE_MAX), -1);
		assert_int_equal(get_bin(c, &v, SIZE_MAX), 0);
		assert_int_equal(v.n, o->via.bin.size);
		assert_memory_equal(v.p, o->via.bin.ptr, v.n);
		break;
	case MSGPACK_OBJECT_ARRAY:
		assert_int_equal(get_array(c, &n), 0);
		assert_int_equal(n, o->via.array.size);
		for (i = 0; i < n; i++)
			compare(c, &o->via.array.ptr[i]);
		break;
	case MSGPACK_OBJECT_MAP:
		assert_int_equal(get_map(c, &n), 0);
		assert_int_equal(n, o->via.map.size);
		for (i = 0; i < n; i++) {
			compare(c, &o->via.map.ptr[i].key);
			compare(c, &o->via.map.ptr[i].val);
		}
		break;
	case MSGPACK_OBJECT_EXT:
	default:
		fail();
	}
}

static void
random_values_as_oracle(void **state)
{
	msgpack_unpacked u;
	struct cursor c;
	struct pair p;
	struct view v;
	uint64_t seed;

	(void)state;
	for (seed = 0; seed < 600; seed++) {
		pair_init(&p, seed);
		pair_value(&p, 0);
		assert_false(p.ours.has_failed);
		assert_int_equal(p.ours.n, p.theirs.size);
		assert_memory_equal(p.ours.p, p.theirs.data, p.ours.n);
		v.p = p.ours.p;
		v.n = p.ours.n;
		assert_true(scan_is_one(v));
		msgpack_unpacked_init(&u);
		assert_int_equal(msgpack_unpack_next(&u, p.theirs.data,
		    p.theirs.size, NULL), MSGPACK_UNPACK_SUCCESS);
		cursor_init(&c, v);
		compare(&c, &u.data);
		assert_int_equal(get_end(&c), 0);
		msgpack_unpacked_destroy(&u);
		pair_free(&p);
	}
}

/*** Typed reads ***/

#define READ(c, s)	cursor_init(c, (struct view){			\
	    (const unsigned char *)(s), sizeof(s) - 1 })

static void
uint_max_exact(void **state)
{
	struct cursor c;
	uint64_t u;

	(void)state;
	READ(&c, "\xcc\xc8");
	assert_int_equal(get_uint(&c, &u, 199), -1);
	assert_int_equal(get_uint(&c, &u, 200), 0);
	assert_int_equal(u, 200);
	assert_int_equal(get_uint(&c, &u, 200), -1);
}

static void
int_forms_of_any_width_accepted(void **state)
{
	struct cursor c;
	uint64_t u;
	int64_t s;

	(void)state;
	READ(&c, "\xd3\0\0\0\0\0\0\0\5\xcf\0\0\0\0\0\0\0\5");
	assert_int_equal(get_uint(&c, &u, 5), 0);
	assert_int_equal(get_int(&c, &s), 0);
	assert_int_equal(u, 5);
	assert_int_equal(s, 5);
	READ(&c, "\xcf\x80\0\0\0\0\0\0\0");
	assert_int_equal(get_int(&c, &s), -1);
	assert_int_equal(get_uint(&c, &u, UINT64_MAX), 0);
	READ(&c, "\xd0\x80\xd1\xff\x7f\xd2\xff\xff\xff\xff");
	assert_int_equal(get_int(&c, &s), 0);
	assert_int_equal(s, -128);
	assert_int_equal(get_int(&c, &s), 0);
	assert_int_equal(s, -129);
	assert_int_equal(get_int(&c, &s), 0);
	assert_int_equal(s, -1);
}

static void
double_takes_ints_and_floats(void **state)
{
	struct cursor c;
	double d;

	(void)state;
	READ(&c, "\x05\xff\xca\x3f\xc0\0\0\xa1""5");
	assert_int_equal(get_double(&c, &d), 0);
	assert_true(d == 5.0);
	assert_int_equal(get_double(&c, &d), 0);
	assert_true(d == -1.0);
	assert_int_equal(get_double(&c, &d), 0);
	assert_true(d == 1.5);
	assert_int_equal(get_double(&c, &d), -1);
}

static void
str_with_nul_refused_bad_utf8_accepted(void **state)
{
	struct cursor c;
	struct view v;

	(void)state;
	READ(&c, "\xa3" "a\0b" "\xa2\xc3\x28");
	assert_int_equal(get_str(&c, &v, 10), -1);
	assert_int_equal(get_bin(&c, &v, 10), 0);
	assert_int_equal(v.n, 3);
	assert_int_equal(get_str(&c, &v, 1), -1);
	assert_int_equal(get_str(&c, &v, 2), 0);
}

static void
wrong_kind_stays(void **state)
{
	struct cursor c;
	struct view v;
	uint32_t n;
	bool b;

	(void)state;
	READ(&c, "\x91\xc3");
	assert_int_equal(get_map(&c, &n), -1);
	assert_int_equal(get_bool(&c, &b), -1);
	assert_int_equal(get_nil(&c), -1);
	assert_int_equal(get_bin(&c, &v, 10), -1);
	assert_int_equal(get_end(&c), -1);
	assert_int_equal(cursor_kind(&c), V_ARRAY);
	assert_int_equal(get_array(&c, &n), 0);
	assert_int_equal(cursor_kind(&c), V_BOOL);
	assert_int_equal(get_raw(&c, &v), 0);
	assert_int_equal(v.n, 1);
	assert_int_equal(cursor_kind(&c), V_NONE);
	assert_int_equal(get_raw(&c, &v), -1);
	assert_int_equal(get_end(&c), 0);
}

/* Unscanned bytes are a caller's mistake; it must not become an overrun. */
static void
try_all(const unsigned char *p, size_t n)
{
	struct cursor first, c;
	struct view v;
	uint32_t count;
	uint64_t u;
	int64_t s;
	double d;
	bool b;

	cursor_init(&first, (struct view){ p, n });
	c = first;
	get_bool(&c, &b);
	c = first;
	get_uint(&c, &u, UINT64_MAX);
	c = first;
	get_int(&c, &s);
	c = first;
	get_double(&c, &d);
	c = first;
	get_str(&c, &v, SIZE_MAX);
	c = first;
	get_bin(&c, &v, SIZE_MAX);
	c = first;
	get_array(&c, &count);
	c = first;
	get_map(&c, &count);
	c = first;
	get_raw(&c, &v);
	assert_true(c.p <= c.end);
}

static void
unscanned_bytes_not_overrun(void **state)
{
	unsigned char *p;
	unsigned int x;
	size_t n;

	(void)state;
	for (n = 1; n < 10; n++) {
		p = malloc(n);
		assert_non_null(p);
		memset(p, 0xff, n);
		for (x = 0; x < 256; x++) {
			p[0] = (unsigned char)x;
			try_all(p, n);
		}
		free(p);
	}
}

/*** The buffer ***/

static void
buf_too_long_fails_once_for_all(void **state)
{
	struct view v = { (const unsigned char *)"", 1ull << 33 };
	struct buf b = { 0 };

	(void)state;
	put_uint(&b, 1);
	put_str_view(&b, v);
	assert_true(b.has_failed);
	put_uint(&b, 1);
	assert_int_equal(b.n, 1);
	buf_free(&b);
	assert_null(b.p);
	assert_false(b.has_failed);
}

static void
absent_views_are_empty_or_nil(void **state)
{
	struct view none = { NULL, 0 };
	struct buf b = { 0 };

	(void)state;
	put_str_view(&b, none);
	put_str(&b, NULL);
	put_bin(&b, none);
	put_raw(&b, none);
	assert_int_equal(b.n, 5);
	assert_memory_equal(b.p, "\xa0\xa0\xc4\0\xc0", 5);
	buf_free(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_values_as_oracle),
		cmocka_unit_test(uint_max_exact),
		cmocka_unit_test(int_forms_of_any_width_accepted),
		cmocka_unit_test(double_takes_ints_and_floats),
		cmocka_unit_test(str_with_nul_refused_bad_utf8_accepted),
		cmocka_unit_test(wrong_kind_stays),
		cmocka_unit_test(unscanned_bytes_not_overrun),
		cmocka_unit_test(buf_too_long_fails_once_for_all),
		cmocka_unit_test(absent_views_are_empty_or_nil),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
