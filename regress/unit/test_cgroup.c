/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * Where our own control groups are, on the layouts that exist: v1, v2,
 * hybrid, in a container, in a namespace of groups.  Texts only.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proto/proto.h"

static struct cgroup_place places[CG_TREES];

static void
is(int i, int version, unsigned int bits, const char *path)
{
	assert_int_equal(places[i].version, version);
	assert_int_equal(places[i].bits, bits);
	assert_string_equal(places[i].path, path);
}

static void
cgroup_v2_at_the_root(void **state)
{
	(void)state;
	assert_int_equal(cgroup_find("0::/\n",
	    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda rw\n"
	    "30 22 0:27 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime "
	    "shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", places), 1);
	is(0, 2, 0, "/sys/fs/cgroup");
}

static void
cgroup_v2_in_a_service(void **state)
{
	(void)state;
	assert_int_equal(cgroup_find("0::/system.slice/sandboxd.service\n",
	    "30 22 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", places),
	    1);
	is(0, 2, 0, "/sys/fs/cgroup/system.slice/sandboxd.service");
}

static void
cgroup_hybrid_each_controller_its_own_path(void **state)
{
	(void)state;
	assert_int_equal(cgroup_find(
	    "9:name=systemd:/\n8:pids:/\n6:freezer:/\n"
	    "4:memory:/api/1a00\n2:cpu,cpuacct:/\n0::/\n",
	    "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw\n"
	    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:3 - cgroup "
	    "cgroup rw,cpu,cpuacct\n"
	    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup "
	    "rw,memory\n"
	    "37 31 0:34 / /sys/fs/cgroup/freezer rw - cgroup cgroup "
	    "rw,freezer\n"
	    "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
	    "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup "
	    "rw,name=systemd\n"
	    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
	    places), 5);
	is(0, 1, CG_GROUPS, "/sys/fs/cgroup/freezer");
	is(1, 1, CG_PIDS, "/sys/fs/cgroup/pids");
	is(2, 1, CG_MEMORY, "/sys/fs/cgroup/memory/api/1a00");
	is(3, 1, CG_CPU, "/sys/fs/cgroup/cpu,cpuacct");
	is(4, 2, 0, "/sys/fs/cgroup/unified");
}

static void
cgroup_v1_mounted_together_is_one_tree(void **state)
{
	(void)state;
	assert_int_equal(cgroup_find("3:cpu,freezer,memory,pids:/x\n",
	    "35 31 0:32 / /cg rw - cgroup none rw,cpu,freezer,memory,pids\n",
	    places), 1);
	is(0, 1, CG_GROUPS | CG_PIDS | CG_MEMORY | CG_CPU, "/cg/x");
}

/* A container's mount has its own group as root, but the path is full. */
static void
cgroup_root_of_the_mount_is_taken_off(void **state)
{
	(void)state;
	assert_int_equal(cgroup_find("6:freezer:/docker/abc/in\n",
	    "37 31 0:34 /docker/abc /sys/fs/cgroup/freezer ro - cgroup "
	    "cgroup rw,freezer\n", places), 1);
	is(0, 1, CG_GROUPS, "/sys/fs/cgroup/freezer/in");
	assert_int_equal(cgroup_find("6:freezer:/docker/abc\n",
	    "37 31 0:34 /docker/abc /sys/fs/cgroup/freezer ro - cgroup "
	    "cgroup rw,freezer\n", places), 1);
	is(0, 1, CG_GROUPS, "/sys/fs/cgroup/freezer");
}

static void
cgroup_mount_of_another_namespace_is_no_place(void **state)
{
	(void)state;
	assert_int_equal(cgroup_find("0::/\n",
	    "30 22 0:27 /../outside /cg rw - cgroup2 cgroup2 rw\n", places),
	    0);
	assert_int_equal(cgroup_find("0::/abcd\n",
	    "30 22 0:27 /abc /cg rw - cgroup2 cgroup2 rw\n", places), 0);
}

static void
cgroup_odd_texts_are_no_places(void **state)
{
	static const char *const odd[] = { "", "\n", "x", "0:", "0::",
	    "0::\n", ":::", "1:freezer", "1:freezer:\n",
	    "1:freezers:/\n", "1:freezer,:" };
	char longer[9000];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_int_equal(cgroup_find(odd[i],
		    "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n"
		    "31 22 0:28 / /fr rw - cgroup cgroup rw,freezer\n",
		    places), 0);
		assert_int_equal(cgroup_find("0::/\n", odd[i], places), 0);
	}
	memset(longer, 'a', sizeof(longer));
	memcpy(longer, "0::/", 4);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(cgroup_find(longer,
	    "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n", places), 0);
}

static void
cgroup_list_has_whole_words(void **state)
{
	static const char list[] = "cpuset cpu io\n";

	(void)state;
	assert_true(cgroup_list_has(list, list + strlen(list), "cpu"));
	assert_true(cgroup_list_has(list, list + strlen(list), "io"));
	assert_false(cgroup_list_has(list, list + strlen(list), "cp"));
	assert_false(cgroup_list_has(list, list + strlen(list), "set"));
	assert_false(cgroup_list_has(list, list + 3, "cpuset"));
	assert_false(cgroup_list_has(list, list, "cpu"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cgroup_v2_at_the_root),
		cmocka_unit_test(cgroup_v2_in_a_service),
		cmocka_unit_test(cgroup_hybrid_each_controller_its_own_path),
		cmocka_unit_test(cgroup_v1_mounted_together_is_one_tree),
		cmocka_unit_test(cgroup_root_of_the_mount_is_taken_off),
		cmocka_unit_test(cgroup_mount_of_another_namespace_is_no_place),
		cmocka_unit_test(cgroup_odd_texts_are_no_places),
		cmocka_unit_test(cgroup_list_has_whole_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
