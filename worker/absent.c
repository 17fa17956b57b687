/* SPDX-License-Identifier: ISC */
/* Copyright (c) 2026 the sandboxd authors */

/*
 * What the worker cannot do, as a fact about its binary: libevent's helpers
 * refer to the name service and to network interfaces, and find these here
 * instead of the C library's, which would make up a third of a static
 * program.  Nothing calls them; each fails.
 */

#include <sys/socket.h>
#include <sys/types.h>

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stddef.h>

int
getaddrinfo(const char *node, const char *service,
    const struct addrinfo *hints, struct addrinfo **list)
{
	(void)node;
	(void)service;
	(void)hints;
	*list = NULL;
	return EAI_FAIL;
}

void
freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

const char *
gai_strerror(int code)
{
	(void)code;
	return "no name service";
}

struct servent *
getservbyname(const char *name, const char *proto)
{
	(void)name;
	(void)proto;
	return NULL;
}

struct protoent *
getprotobynumber(int number)
{
	(void)number;
	return NULL;
}

int
getifaddrs(struct ifaddrs **list)
{
	*list = NULL;
	errno = ENOSYS;
	return -1;
}

void
freeifaddrs(struct ifaddrs *list)
{
	(void)list;
}

unsigned int
if_nametoindex(const char *name)
{
	(void)name;
	errno = ENOSYS;
	return 0;
}
