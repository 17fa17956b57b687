# SPDX-License-Identifier: ISC
# Copyright (c) 2026 the sandboxd authors
"""crowd.py SOCKET PID...: connects until nobody answers any more, and sees
that the daemon then rests, says so once, and recovers by itself."""

import os
import socket
import sys
import time

import resources
import rpc


def answers(path, seconds):
    """A new client's answer, or None when there is none in that time."""
    conn = rpc.Conn(path)
    conn.sock.settimeout(seconds)
    try:
        if conn.call('hello'):
            return conn
    except (OSError, AssertionError, rpc.Fault):
        pass
    conn.close()
    return None


def main(path, pids):
    held = []
    while len(held) < 1000:
        conn = answers(path, 3)
        if conn is None:
            break
        held.append(conn)
    assert 5 < len(held) < 1000, len(held)
    # Some more, whom it lets wait or sends away.
    more = []
    for _ in range(20):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(3)
        try:
            s.connect(path)
        except OSError:
            pass
        more.append(s)
    before = resources.ticks(pids)
    time.sleep(2)
    used = resources.ticks(pids) - before
    assert used <= resources.TICKS * 2 // 5, '%d ticks in 2 s' % used
    # Those that are in are served.
    for conn in held[:5]:
        conn.call('sandbox.list')
    for conn in held:
        conn.close()
    for s in more:
        s.close()
    end = time.monotonic() + 40
    while answers(path, 3) is None:
        assert time.monotonic() < end, 'it does not recover'
    print(len(held))


if __name__ == '__main__':
    main(sys.argv[1], [int(p) for p in sys.argv[2:]])
