# SPDX-License-Identifier: ISC
"""A hostile client of the daemon's socket: client.py SOCKET SEED.

Sends broken, oversized, mutated and badly timed messages and descriptors.
Every connection of this kind may be ended by the daemon; a good client is
served between them.  Bounded in count and time.
"""
import array
import os
import random
import socket
import sys

import msgpack

path, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)


def connect():
    # Waits while the daemon's backlog is full, as a blocking socket does.
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.settimeout(20)
    return s


def send(s, data, fds=()):
    try:
        anc = []
        if fds:
            anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                    array.array("i", fds))]
        n = s.sendmsg([data], anc, socket.MSG_NOSIGNAL)
        while n < len(data):
            n += s.send(data[n:], socket.MSG_NOSIGNAL)
    except OSError:
        pass


def answer(s):
    u = msgpack.Unpacker(raw=False, strict_map_key=False)
    while True:
        try:
            data = s.recv(65536)
        except OSError as e:
            return e
        if not data:
            return None
        u.feed(data)
        for m in u:
            return m


def alive():
    s = connect()
    send(s, msgpack.packb([0, 1, "hello", [{}]]))
    m = answer(s)
    s.close()
    assert m and m[0] == 1 and m[1] == 1 and m[2] is None, m


def once(data, fds=(), wait=True):
    s = connect()
    send(s, data, fds)
    if wait:
        s.settimeout(0.2)
        answer(s)
    s.close()


good = [
    [0, 7, "hello", [{}]],
    [0, 8, "sandbox.list", [{"max": 2}]],
    [0, 9, "sandbox.info", [{"id": "sb_0123456789abcdef"}]],
    [0, 10, "sandbox.create", [{"name": "x", "memory": -1}]],
    [0, 11, "sandbox.connect", [{"id": "sb_0123456789abcdef"}]],
    [0, 12, "event.subscribe", [{"since": 0}]],
    [0, 13, "server.check", [{}]],
    [2, "event", [{}]],
    [1, 1, None, {}],
]

alive()
# Depth and size.
for data in (b"\x91" * 1000000, b"\x81\xa1a" * 300000, b"\xdd\xff\xff\xff\xff",
             b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff" + b"x" * 1000,
             b"\xdb\xff\xff\xff\xff", b"\xc1", b"\xc7\x01\x05x", b"\x90",
             b"\x94\x00\x01\xa5hello\x91\x80" * 5000,
             msgpack.packb([0, 1, "hello", [{}], 5]),
             msgpack.packb([0, 1, "hello", {}]),
             msgpack.packb([0, -1, "hello", [{}]]),
             msgpack.packb([0, 2 ** 40, "hello", [{}]]),
             msgpack.packb([0, 1, "x" * 70000, [{}]]),
             msgpack.packb([0, 1, b"\xff\xfe", [{}]]),
             msgpack.packb([0, 1, "hello\0", [{}]]),
             msgpack.packb([0, 1, "hello", [{"a": {"b": [1] * 70000}}]]),
             b"\x94\x00\x01\xa5hello\x91\x82\xa1a\x01\xa1a\x02"):
    once(data)
alive()

# Every value of every limit of create.
s = connect()
n = 100
for key in ("memory", "cpus", "pids", "files", "tmp", "ttl", "timeout",
            "cpu_time", "output", "offer"):
    for value in (-1, 2 ** 31, 2 ** 32, 2 ** 63, 2 ** 64 - 1, float("nan"),
                  float("inf"), -0.5, "1", [], {}, b"x", True):
        n += 1
        send(s, msgpack.packb([0, n, "sandbox.create",
                               [{key: value, "backend": "nothing"}]]))
        m = answer(s)
        assert m and m[1] == n and m[2] and m[2]["code"], (key, value, m)
for name in ("..", "/", "a/b", "-x", ".x", "", "x" * 300, "a\nb", "\u2603",
             "\x1b]0;x\x07", "a b"):
    n += 1
    send(s, msgpack.packb([0, n, "sandbox.create", [{"name": name}]]))
    m = answer(s)
    assert m and m[2] and m[2]["code"] == "invalid", (name, m)
for sid in ("sb_0000000000000000", "../../etc", "sb_x", "sb_" + "f" * 17, "%s%n",
            "x" * 1000, "\x1b[2J"):
    for method in ("info", "connect", "destroy"):
        n += 1
        send(s, msgpack.packb([0, n, "sandbox." + method, [{"id": sid}]]))
        m = answer(s)
        assert m and m[1] == n and m[2], (sid, m)
s.close()
alive()

# Mutations.
for i in range(600):
    data = bytearray(msgpack.packb(rng.choice(good)))
    for _ in range(rng.randrange(1, 4)):
        where = rng.randrange(len(data))
        what = rng.randrange(3)
        if what == 0:
            data[where] = rng.randrange(256)
        elif what == 1:
            del data[where]
        else:
            data.insert(where, rng.randrange(256))
        if not data:
            data = bytearray(b"\x00")
    once(bytes(data), wait=False)
alive()

# Descriptors nobody asked for, too many, and a socket with itself in flight.
r, w = os.pipe()
for count in (1, 2, 16, 17, 64, 200):
    once(msgpack.packb(good[0]), [r] * count)
    s = connect()
    for byte in msgpack.packb([0, 5, "sandbox.offer", [{"fds": 1}]]):
        send(s, bytes([byte]), [r])
    s.close()
for i in range(100):
    a, b = socket.socketpair()
    send(a, b"x", [a.fileno(), b.fileno()])
    once(msgpack.packb(good[0]), [a.fileno()], wait=False)
    a.close()
    b.close()
alive()

# Slow, silent, half-open and never-reading clients.
idle = [connect() for _ in range(100)]
for i, s in enumerate(idle):
    send(s, msgpack.packb(good[i % 5])[:1 + i % 7])
    if i % 3 == 0:
        s.shutdown(socket.SHUT_WR)
deaf = connect()
deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
deaf.settimeout(2)
many = msgpack.packb([0, 1, "server.check", [{}]]) * 200
for i in range(100):
    try:
        deaf.sendall(many)
    except OSError:
        break
alive()
for s in idle:
    s.close()
deaf.close()
alive()
print("served to the end")
