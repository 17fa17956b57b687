/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * The messages of messages.h as tables: names, directions, descriptors,
 * sizes and fields, all expanded from the one list.  Used by all processes;
 * no rights.  A frame comes from the other process, which may be hostile:
 * it is scanned and unpacked exactly or refused.
 */

#include <string.h>

#include "proto.h"

/*
 * The fields of each message.  In a function because of offsetof(): self is
 * never read, it names the struct for the field verbs.
 */
#define AT(name)	offsetof(__typeof__(*self), name)
#define ROW(n, k, m)	{ .name = #n, .kind = k, .offset = AT(n), .max = m },
#define ROW_U(n, m)	ROW(n, F_UINT, m)
#define ROW_I(n)	ROW(n, F_INT, 0)
#define ROW_B(n)	ROW(n, F_BOOL, 0)
#define ROW_S(n, m)	ROW(n, F_STR, m)
#define ROW_D(n, m)	ROW(n, F_BIN, m)
#define ROW_R(n, m)	ROW(n, F_RAW, m)

#define MSG_TABLE(NAME, name, dir, num, nfds)				\
static const struct field *						\
fields_##name(void)							\
{									\
	const struct msg_##name *self __attribute__((unused));		\
	static const struct field table[] = {				\
		MSG_##NAME##_FIELDS(ROW_U, ROW_I, ROW_B, ROW_S, ROW_D,	\
		    ROW_R)						\
	};								\
									\
	return table;							\
}									\
_Static_assert(nfds <= FRAME_FDS_MAX, "descriptors of " #NAME);		\
_Static_assert(num < MSG_TYPE_MAX, "number of " #NAME);

MSG_LIST(MSG_TABLE)

/* What a body takes at most: the array's head and each field's. */
#define SIZE_U(n, m)	+ 9
#define SIZE_I(n)	+ 9
#define SIZE_B(n)	+ 1
#define SIZE_S(n, m)	+ 5 + m
#define SIZE_R(n, m)	+ m
#define SIZE(NAME)	(3 MSG_##NAME##_FIELDS(SIZE_U, SIZE_I, SIZE_B,	\
	    SIZE_S, SIZE_S, SIZE_R))
#define ONE(...)	+ 1
#define COUNT(NAME)	(0 MSG_##NAME##_FIELDS(ONE, ONE, ONE, ONE, ONE, ONE))

#define MSG_ROW(NAME, name_, dir_, num, nfds)				\
	[num] = {							\
		.name = #NAME,						\
		.dir = DIR_##dir_,					\
		.fds_max = nfds,					\
		.nfields = COUNT(NAME),					\
		.body_max = SIZE(NAME) < FRAME_BODY_MAX ?		\
		    SIZE(NAME) : FRAME_BODY_MAX,			\
		.fields = fields_##name_,				\
	},

static const struct msg_info infos[] = {
	MSG_LIST(MSG_ROW)
};

#define NINFOS	(sizeof(infos) / sizeof(infos[0]))

const struct msg_info *
msg_info(unsigned int type)
{
	if (type >= NINFOS || infos[type].name == NULL)
		return NULL;
	return &infos[type];
}

const char *
msg_name(unsigned int type)
{
	const struct msg_info *info = msg_info(type);

	return info == NULL ? "?" : info->name;
}

int
msg_unpack(const struct frame *f, void *msg, struct error *e)
{
	const struct msg_info *info;

	if ((info = msg_info(f->type)) == NULL)
		return error_set(e, ERR_INVALID, "no message has type %u",
		    f->type);
	if (!scan_is_one(f->body))
		return error_set(e, ERR_INVALID, "%s is not one value",
		    info->name);
	return field_unpack_array(info->fields(), info->nfields, f->body, msg,
	    e);
}

void
msg_pack(enum msg_type type, const void *msg, struct buf *b)
{
	const struct msg_info *info;

	if ((info = msg_info(type)) == NULL) {
		b->has_failed = true;
		return;
	}
	field_pack_array(info->fields(), info->nfields, msg, b);
}

void
msg_from_error(const struct error *e, struct msg_broker_failed *m)
{
	m->code = e->code;
	m->sys_errno = e->sys_errno < 0 || e->sys_errno > 4096 ? 0 :
	    (uint64_t)e->sys_errno;
	m->message = view_of(e->message);
	m->key = view_of(e->key);
	m->path = view_of(e->path);
	m->fix = view_of(e->fix);
}

void
msg_to_error(const struct msg_broker_failed *m, struct error *e)
{
	enum err_code code = ERR_INTERNAL;

	if (m->code > ERR_NONE && m->code <= ERR_INTERNAL)
		code = (enum err_code)m->code;
	memset(e, 0, sizeof(*e));
	e->code = code;
	e->sys_errno = (int)m->sys_errno;
	/* The sizes in messages.h are the sizes of the members less one. */
	text_copy(e->message, sizeof(e->message), m->message);
	text_copy(e->key, sizeof(e->key), m->key);
	text_copy(e->path, sizeof(e->path), m->path);
	text_copy(e->fix, sizeof(e->fix), m->fix);
}
