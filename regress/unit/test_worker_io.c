/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Streams through the worker, with a real agent on both kinds of channel:
 * exact bytes, ends, limits, back-pressure.
 */

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker_driver.h"

/* Bytes that differ with their position. */
static void
pattern(unsigned char *p, size_t n)
{
	uint32_t	x = 12345;
	size_t		i;

	for (i = 0; i < n; i++) {
		x = x * 1103515245 + 12345;
		p[i] = (unsigned char)(x >> 16);
	}
}

/*** Relay ***/

static void
relay_keeps_streams_apart(void **state)
{
	struct driver	*d = *state;
	uint32_t	 exec;
	char		*text;

	exec = driver_start(d, "echo out; echo err >&2; printf end", "");
	driver_exits(d, exec, 0);
	text = driver_read(d, exec, "stdout", NULL);
	assert_string_equal(text, "out\nend");
	free(text);
	text = driver_read(d, exec, "stderr", NULL);
	assert_string_equal(text, "err\n");
	free(text);
	driver_refuses(d, ERR_INVALID, "offset", "exec.read",
	    "{'exec':%u,'stream':'stdout','offset':8}", exec);
	driver_refuses(d, ERR_INVALID, "stream", "exec.read",
	    "{'exec':%u,'stream':'stdin'}", exec);
}

/* Through cat: sizes round the edges of every buffer. */
static void
relay_is_byte_exact(void **state)
{
	static const size_t	 sizes[] = { 0, 1, 4095, 4096, 4097, 8191,
		8193, 32768, 65535, 65536, 65537, 262145, 1048575, 1048576 };
	struct driver		*d = *state;
	struct reply		 r;
	unsigned char		*bytes;
	uint32_t		 exec;
	size_t			 i, len;
	char			*got;
	int			 in, out;

	bytes = malloc(1048576);
	assert_non_null(bytes);
	pattern(bytes, 1048576);
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		exec = driver_start(d, "exec cat", "'stdin':'relay'");
		in = attach(d, exec, "stdin", 0);
		driver_write_fd(d, in, bytes, sizes[i]);
		detach(in);
		driver_exits(d, exec, 0);
		out = attach(d, exec, "stdout", 0);
		got = driver_read_fd(d, out, SIZE_MAX, &len);
		detach(out);
		assert_int_equal(len, sizes[i]);
		assert_memory_equal(got, bytes, len);
		free(got);
		driver_call(d, &r, "exec.info", "{'exec':%u}", exec);
		assert_int_equal(reply_uint(&r, "streams.stdout.end"), len);
		reply_free(&r);
	}
	free(bytes);
}

/* Far more than is kept: the reader holds the command back. */
static void
attached_reader_gets_everything(void **state)
{
	struct driver	*d = *state;
	uint32_t	 exec;
	size_t		 len;
	char		*got;
	int		 in, out;

	exec = driver_start(d, "read x; head -c 6000000 /dev/zero; "
	    "printf END", "'stdin':'relay'");
	out = attach(d, exec, "stdout", 0);
	in = attach(d, exec, "stdin", 0);
	driver_write_fd(d, in, "\n", 1);
	detach(in);
	got = driver_read_fd(d, out, SIZE_MAX, &len);
	assert_int_equal(len, 6000003);
	assert_string_equal(got + 6000000, "END");
	free(got);
	detach(out);
	driver_exits(d, exec, 0);
}

/* Nothing is lost between start and attach. */
static void
block_waits_for_a_reader(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;
	uint64_t	 end;
	size_t		 len;
	char		*got;
	int		 out, i;

	exec = driver_start(d, "head -c 6000000 /dev/zero; printf END",
	    "'output_full':'block'");
	for (i = 0, end = 0; i < 1000 && end < RING_MAX; i++) {
		driver_call(d, &r, "exec.info", "{'exec':%u}", exec);
		end = reply_uint(&r, "streams.stdout.end");
		assert_int_equal(reply_uint(&r, "streams.stdout.start"), 0);
		assert_string_equal(reply_text(&r, "state"), "running");
		reply_free(&r);
		driver_run(d, 5);
		if (d->flags & WITH_STREAM && end >= RING_MAX - STREAM_WINDOW)
			break;
	}
	assert_true(end <= RING_MAX);
	out = attach(d, exec, "stdout", 0);
	got = driver_read_fd(d, out, SIZE_MAX, &len);
	assert_int_equal(len, 6000003);
	free(got);
	detach(out);
	driver_exits(d, exec, 0);
}

static void
block_waits_for_exec_read(void **state)
{
	struct driver	*d = *state;
	uint32_t	 exec;
	size_t		 len;
	char		*got;

	exec = driver_start(d, "head -c 3000000 /dev/zero; printf END",
	    "'output_full':'block','output':100000");
	got = driver_read(d, exec, "stdout", &len);
	assert_int_equal(len, 3000003);
	free(got);
	driver_exits(d, exec, 0);
}

/* Without a reader the last bytes are kept, and it says what is lost. */
static void
unread_output_keeps_the_end(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;
	uint64_t	 start;

	exec = driver_start(d, "head -c 5000000 /dev/zero; printf END", "");
	driver_exits(d, exec, 0);
	driver_call(d, &r, "exec.read",
	    "{'exec':%u,'stream':'stdout','max':1}", exec);
	start = reply_uint(&r, "offset");
	assert_int_equal(start, 5000003 - RING_MAX);
	assert_int_equal(reply_uint(&r, "lost"), start);
	reply_free(&r);
	driver_call(d, &r, "exec.read",
	    "{'exec':%u,'stream':'stdout','offset':5000000}", exec);
	assert_string_equal(reply_text(&r, "data"), "END");
	assert_true(reply_bool(&r, "eof"));
	reply_free(&r);
}

static void
readers_do_not_share(void **state)
{
	struct driver	*d = *state;
	uint32_t	 exec;
	char		*got;
	int		 a, b, c, in;

	exec = driver_start(d, "echo one; read x; echo two",
	    "'stdin':'relay'");
	a = attach(d, exec, "stdout", 0);
	b = attach(d, exec, "stdout", 0);
	c = attach(d, exec, "stdout", 0);
	detach(c);
	in = attach(d, exec, "stdin", 0);
	driver_write_fd(d, in, "\n", 1);
	got = driver_read_fd(d, a, SIZE_MAX, NULL);
	assert_string_equal(got, "one\ntwo\n");
	free(got);
	got = driver_read_fd(d, b, SIZE_MAX, NULL);
	assert_string_equal(got, "one\ntwo\n");
	free(got);
	detach(in);
	detach(a);
	detach(b);
	driver_exits(d, exec, 0);
	a = attach(d, exec, "stdout", 4);
	got = driver_read_fd(d, a, SIZE_MAX, NULL);
	assert_string_equal(got, "two\n");
	free(got);
	detach(a);
}

/*** Limits ***/

static void
limit_discards(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;
	size_t		 len;
	char		*got;

	exec = driver_start(d, "head -c 3000000 /dev/zero; exit 2",
	    "'output':1000");
	driver_result(d, exec, &r);
	assert_string_equal(reply_text(&r, "cause"), "exit");
	assert_int_equal(reply_int(&r, "code"), 2);
	assert_true(reply_bool(&r, "truncated.stdout"));
	assert_false(reply_bool(&r, "truncated.stderr"));
	reply_free(&r);
	got = driver_read(d, exec, "stdout", &len);
	assert_int_equal(len, 1000);
	free(got);
}

static void
limit_exact_is_not_truncated(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;

	exec = driver_start(d, "head -c 1000 /dev/zero", "'output':1000");
	driver_result(d, exec, &r);
	assert_false(reply_bool(&r, "truncated.stdout"));
	reply_free(&r);
}

static void
limit_kills(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;

	exec = driver_start(d, "while :; do echo x; done",
	    "'output':1000,'output_full':'kill'");
	driver_result(d, exec, &r);
	assert_string_equal(reply_text(&r, "cause"), "output");
	assert_true(reply_bool(&r, "truncated.stdout"));
	reply_free(&r);
}

/* A passed descriptor with a limit: copied, and cut. */
static void
limit_holds_for_passed_output(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 id, exec;
	size_t		 len;
	char		*got;
	int		 fds[3], out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	fds[0] = fds[2] = dev_null();
	fds[1] = out[1];
	id = client_send(&d->client, "exec.start", fds, 3, "{'shell':"
	    "'head -c 5000 /dev/zero','cwd':'/','fds':3,'output':1000}");
	detach(out[1]);
	client_reply(d, &d->client, id, &r);
	assert_string_equal(reply_text(&r, "mode.stdout"), "relay");
	exec = (uint32_t)reply_uint(&r, "exec");
	reply_free(&r);
	driver_result(d, exec, &r);
	assert_true(reply_bool(&r, "truncated.stdout"));
	reply_free(&r);
	got = driver_read_fd(d, out[0], SIZE_MAX, &len);
	assert_int_equal(len, 1000);
	free(got);
	detach(out[0]);
	detach(fds[0]);
}

/*** Passed descriptors ***/

/* On both kinds of channel, and flags of the client stay as they are. */
static void
passed_pipes_are_byte_exact(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	unsigned char	*bytes;
	uint32_t	 id, exec;
	size_t		 i, len, n = 50000;
	char		*got;
	int		 fds[3], in[2], out[2];

	bytes = malloc(n);
	assert_non_null(bytes);
	pattern(bytes, n);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	fds[0] = in[0];
	fds[1] = out[1];
	fds[2] = dev_null();
	id = client_send(&d->client, "exec.start", fds, 3,
	    "{'argv':['cat'],'cwd':'/','fds':3}");
	client_reply(d, &d->client, id, &r);
	assert_false(r.is_error);
	assert_string_equal(reply_text(&r, "mode.stdin"), "fd");
	assert_string_equal(reply_text(&r, "mode.stdout"), "fd");
	exec = (uint32_t)reply_uint(&r, "exec");
	reply_free(&r);
	for (i = 0; i < 20; i++) {
		driver_write_fd(d, in[1], bytes, n);
		got = driver_read_fd(d, out[0], n, &len);
		assert_int_equal(len, n);
		assert_memory_equal(got, bytes, n);
		free(got);
	}
	assert_int_equal(fcntl(in[0], F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);
	detach(in[0]);
	detach(in[1]);
	detach(out[1]);
	driver_exits(d, exec, 0);
	got = driver_read_fd(d, out[0], SIZE_MAX, &len);
	assert_int_equal(len, 0);
	free(got);
	detach(out[0]);
	detach(fds[2]);
	free(bytes);
}

/* A reader that does not read holds nobody else up, and then gets all. */
static void
passed_pipe_stalls_alone(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 id, exec;
	size_t		 len;
	char		*got;
	int		 fds[3], out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	fds[0] = fds[2] = dev_null();
	fds[1] = out[1];
	id = client_send(&d->client, "exec.start", fds, 3, "{'shell':"
	    "'head -c 4000000 /dev/zero','cwd':'/','fds':3}");
	detach(out[1]);
	client_reply(d, &d->client, id, &r);
	exec = (uint32_t)reply_uint(&r, "exec");
	reply_free(&r);
	driver_exits(d, driver_start(d, "exit 0", ""), 0);
	got = driver_read_fd(d, out[0], SIZE_MAX, &len);
	assert_int_equal(len, 4000000);
	free(got);
	driver_exits(d, exec, 0);
	detach(out[0]);
	detach(fds[0]);
}

/* Its reader is gone: the command gets SIGPIPE. */
static void
passed_pipe_closed_ends_command(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 id, exec;
	int		 fds[3], out[2];

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	fds[0] = fds[2] = dev_null();
	fds[1] = out[1];
	id = client_send(&d->client, "exec.start", fds, 3,
	    "{'argv':['cat','/dev/zero'],'cwd':'/','fds':3}");
	client_reply(d, &d->client, id, &r);
	exec = (uint32_t)reply_uint(&r, "exec");
	reply_free(&r);
	detach(out[1]);
	detach(out[0]);
	driver_result(d, exec, &r);
	assert_int_equal(reply_int(&r, "signal"), SIGPIPE);
	reply_free(&r);
	detach(fds[0]);
}

static void
passed_files_are_read_and_written(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 id, exec;
	char		 bytes[16];
	int		 fds[3];

	fds[0] = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	fds[1] = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	fds[2] = dev_null();
	assert_true(fds[0] != -1 && fds[1] != -1);
	assert_int_equal(write(fds[0], "abcdef", 6), 6);
	assert_int_equal(lseek(fds[0], 3, SEEK_SET), 3);
	assert_int_equal(write(fds[1], "x", 1), 1);
	id = client_send(&d->client, "exec.start", fds, 3,
	    "{'argv':['cat'],'cwd':'/','fds':3}");
	client_reply(d, &d->client, id, &r);
	exec = (uint32_t)reply_uint(&r, "exec");
	reply_free(&r);
	driver_exits(d, exec, 0);
	assert_int_equal(pread(fds[1], bytes, sizeof(bytes), 0), 4);
	assert_memory_equal(bytes, "xdef", 4);
	detach(fds[0]);
	detach(fds[1]);
	detach(fds[2]);
}

/*** Input ***/

static void
write_delivers_the_end(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;
	char		*got;

	exec = driver_start(d, "exec cat", "'stdin':'relay'");
	driver_call(d, &r, "exec.write", "{'exec':%u,'data':'one '}", exec);
	assert_int_equal(reply_uint(&r, "written"), 4);
	reply_free(&r);
	driver_call(d, &r, "exec.write",
	    "{'exec':%u,'data':'two','eof':true}", exec);
	reply_free(&r);
	driver_exits(d, exec, 0);
	got = driver_read(d, exec, "stdout", NULL);
	assert_string_equal(got, "one two");
	free(got);
	driver_refuses(d, ERR_CONFLICT, "exec", "exec.write",
	    "{'exec':%u,'data':'x'}", exec);
	driver_refuses(d, ERR_CONFLICT, "streams", "exec.attach",
	    "{'exec':%u,'streams':['stdin']}", exec);
}

static void
null_input_ends_at_once(void **state)
{
	struct driver	*d = *state;
	uint32_t	 exec;
	int		 i;

	for (i = 0; i < 50; i++) {
		exec = driver_start(d, "exec cat", "'stdin':'null'");
		driver_exits(d, exec, 0);
	}
	driver_refuses(d, ERR_CONFLICT, "exec", "exec.write",
	    "{'exec':%u,'data':'x'}", exec);
}

/* The pipe is full: the answer waits, the command's end settles it. */
static void
write_waits_for_room(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec, ids[3];
	char		*data;
	int		 i;

	data = malloc(400001);
	assert_non_null(data);
	memset(data, 'a', 400000);
	data[400000] = '\0';
	exec = driver_start(d, "read x; exec cat >/dev/null",
	    "'stdin':'relay'");
	ids[0] = client_send(&d->client, "exec.write", NULL, 0,
	    "{'exec':%u,'data':'\n'}", exec);
	for (i = 1; i < 3; i++)
		ids[i] = client_send(&d->client, "exec.write", NULL, 0,
		    "{'exec':%u,'data':'%s'}", exec, data);
	for (i = 0; i < 3; i++) {
		client_reply(d, &d->client, ids[i], &r);
		assert_int_equal(reply_uint(&r, "written"),
		    i == 0 ? 1 : 400000);
		reply_free(&r);
	}
	ids[0] = client_send(&d->client, "exec.write", NULL, 0,
	    "{'exec':%u,'eof':true}", exec);
	client_reply(d, &d->client, ids[0], &r);
	reply_free(&r);
	driver_exits(d, exec, 0);

	exec = driver_start(d, "exec sleep 600", "'stdin':'relay'");
	ids[0] = client_send(&d->client, "exec.write", NULL, 0,
	    "{'exec':%u,'data':'%s'}", exec, data);
	driver_call(d, &r, "exec.kill", "{'exec':%u,'signal':9}", exec);
	reply_free(&r);
	client_reply(d, &d->client, ids[0], &r);
	if (!(d->flags & WITH_STREAM))
		assert_true(r.is_error);
	reply_free(&r);
	driver_result(d, exec, &r);
	reply_free(&r);
	free(data);
}

/*** Background ***/

static void
exit_does_not_wait_for_background(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;
	char		*got;
	int		 out;

	exec = driver_start(d, "sleep 600 & echo $!; exit 3", "");
	out = attach(d, exec, "stdout", 0);
	driver_exits(d, exec, 3);
	/* Who was attached sees the end of what the command wrote. */
	got = driver_read_fd(d, out, SIZE_MAX, NULL);
	assert_true(atoi(got) > 1);
	detach(out);
	assert_int_equal(kill(atoi(got), 0), 0);
	free(got);
	driver_call(d, &r, "exec.kill", "{'exec':%u,'all':true}", exec);
	assert_false(r.is_error);
	reply_free(&r);
}

/* It can still write when its exec is long over. */
static void
background_output_is_read_on(void **state)
{
	struct driver	*d = *state;
	struct reply	 r;
	uint32_t	 exec;
	uint64_t	 next = 0;
	char		 fifo[] = "/tmp/worker-XXXXXX", path[64], shell[256];
	char		*text;
	int		 fd;

	assert_non_null(mkdtemp(fifo));
	(void)snprintf(path, sizeof(path), "%s/go", fifo);
	assert_int_equal(mkfifo(path, 0600), 0);
	(void)snprintf(shell, sizeof(shell), "(read x <%s; head -c 3000000 "
	    "/dev/zero; echo late) & exit 0", path);
	exec = driver_start(d, shell, "");
	driver_exits(d, exec, 0);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(write(fd, "\n", 1), 1);
	detach(fd);
	do {
		driver_call(d, &r, "exec.info", "{'exec':%u}", exec);
		next = reply_uint(&r, "streams.stdout.end");
		assert_string_equal(reply_text(&r, "state"), "exited");
		reply_free(&r);
		driver_run(d, 5);
	} while (next < 3000005);
	driver_call(d, &r, "exec.read",
	    "{'exec':%u,'stream':'stdout','offset':3000000}", exec);
	text = strdup(reply_text(&r, "data"));
	assert_string_equal(text, "late\n");
	free(text);
	reply_free(&r);
	(void)unlink(path);
	(void)rmdir(fifo);
}

#define TEST(f)								\
	DRIVER_TEST(f, "", driver_agent),				\
	DRIVER_TEST(f, "_stream", driver_agent_stream)

int
main(void)
{
	const struct CMUnitTest	tests[] = {
		TEST(relay_keeps_streams_apart),
		TEST(relay_is_byte_exact),
		TEST(attached_reader_gets_everything),
		TEST(block_waits_for_a_reader),
		TEST(block_waits_for_exec_read),
		TEST(unread_output_keeps_the_end),
		TEST(readers_do_not_share),
		TEST(limit_discards),
		TEST(limit_exact_is_not_truncated),
		TEST(limit_kills),
		TEST(limit_holds_for_passed_output),
		TEST(passed_pipes_are_byte_exact),
		TEST(passed_pipe_stalls_alone),
		TEST(passed_pipe_closed_ends_command),
		TEST(passed_files_are_read_and_written),
		TEST(write_delivers_the_end),
		TEST(null_input_ends_at_once),
		TEST(write_waits_for_room),
		TEST(exit_does_not_wait_for_background),
		TEST(background_output_is_read_on),
		cmocka_unit_test_setup_teardown(relay_is_byte_exact,
		    driver_agent_groups, driver_tear_down),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
