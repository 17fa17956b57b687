# SPDX-License-Identifier: ISC
# Copyright (c) 2026 the sandboxd authors
"""A client of sandboxd in nothing but python3-msgpack, for tests.

MessagePack-RPC on a stream socket; params is an array that holds one map;
descriptors ride with the first byte of the message that has them, and its
key "fds" says how many.
"""

import os
import socket

import msgpack

TIMEOUT = 60


class Fault(Exception):
    """An error answer: the map that came."""

    def __init__(self, error):
        super().__init__(str(error))
        self.error = error

    def __getitem__(self, key):
        return self.error.get(key)


class Conn:
    """One connection: to the daemon, or to a sandbox."""

    def __init__(self, where):
        if isinstance(where, socket.socket):
            self.sock = where
        elif isinstance(where, int):
            self.sock = socket.socket(fileno=where)
        else:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(where)
        self.sock.settimeout(TIMEOUT)
        self.unpacker = msgpack.Unpacker(raw=False, strict_map_key=False)
        self.fds = []
        self.answers = {}
        self.notes = []
        self.last = 0

    def close(self):
        self.sock.close()
        for fd in self.fds:
            os.close(fd)
        self.fds = []

    def send(self, method, params=None, fds=()):
        """A request; its number."""
        self.last += 1
        data = msgpack.packb([0, self.last, method, [params or {}]],
                             use_bin_type=True)
        if fds:
            sent = socket.send_fds(self.sock, [data], list(fds))
            data = data[sent:]
        self.sock.sendall(data)
        return self.last

    def recv(self):
        """Takes in whatever comes next; False at the end."""
        data, fds, flags, _ = socket.recv_fds(self.sock, 65536, 16)
        assert not flags & socket.MSG_CTRUNC
        self.fds += fds
        self.unpacker.feed(data)
        for message in self.unpacker:
            if message[0] == 1:
                assert message[1] not in self.answers, message
                self.answers[message[1]] = message[2:]
            else:
                assert message[0] == 2, message
                self.notes.append((message[1], message[2][0]))
        return bool(data)

    def answer(self, number):
        """The result of a request, whatever order answers come in."""
        while number not in self.answers:
            assert self.recv(), 'connection closed'
        error, result = self.answers.pop(number)
        if error is not None:
            raise Fault(error)
        return result

    def call(self, method, params=None, fds=()):
        return self.answer(self.send(method, params, fds))

    def take_fd(self):
        return self.fds.pop(0)

    def event(self):
        """The next event."""
        while not self.notes:
            assert self.recv(), 'connection closed'
        method, params = self.notes.pop(0)
        assert method == 'event', method
        return params


def fault(conn, method, params=None, fds=()):
    """A call that has to fail: its error."""
    try:
        result = conn.call(method, params, fds)
    except Fault as f:
        for key in ('code', 'message'):
            assert isinstance(f[key], str) and f[key], f.error
        return f
    raise AssertionError('%s: %r' % (method, result))


def read_exec(conn, number, stream, step=65536):
    """A relayed stream from its beginning to its end."""
    data, offset = b'', 0
    while True:
        r = conn.call('exec.read', {'exec': number, 'stream': stream,
                                    'offset': offset, 'max': step,
                                    'wait_ms': 10000})
        assert r["offset"] == offset and not r.get("lost"), str(r)[-200:]
        assert r['next'] == offset + len(r['data']), r
        data += r['data']
        offset = r['next']
        if r['eof']:
            return data
