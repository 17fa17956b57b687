# SPDX-License-Identifier: ISC
# Copyright (c) 2026 the sandboxd authors
"""resources.py SOCKET ROUNDS BACKEND PID...: what the daemon's processes hold
after many operations, failures among them, is what they held before; and
they do nothing when nothing moves."""

import os
import socket
import sys
import time

import rpc

TICKS = os.sysconf('SC_CLK_TCK')


def children(pid):
    found = []
    for task in os.listdir('/proc/%d/task' % pid):
        with open('/proc/%d/task/%s/children' % (pid, task)) as f:
            found += [int(p) for p in f.read().split()]
    return found


def comm(pid):
    try:
        with open('/proc/%d/comm' % pid) as f:
            return f.read().strip()
    except FileNotFoundError:
        return ''


def fds(pid):
    return len(os.listdir('/proc/%d/fd' % pid))


def ticks(pids):
    n = 0
    for pid in pids:
        with open('/proc/%d/stat' % pid) as f:
            words = f.read().rsplit(')', 1)[1].split()
        n += int(words[11]) + int(words[12])
    return n


def settles(what, wanted, get):
    """It becomes that, however busy the machine is."""
    end = time.monotonic() + 40
    while True:
        got = get()
        if got == wanted or time.monotonic() > end:
            break
        time.sleep(0.05)
    assert got == wanted, '%s: %r, before: %r' % (what, got, wanted)


def connect(conn, box):
    conn.call('sandbox.connect', {'id': box})
    return rpc.Conn(conn.take_fd())


def fails(conn, method, params, fds=()):
    rpc.fault(conn, method, params, fds)


def control(conn, path, backend):
    """One of everything that a control connection does."""
    box = conn.call('sandbox.create', {'backend': backend})['id']
    inside = connect(conn, box)
    assert inside.call('exec.wait', {'exec': inside.call(
        'exec.start', {'argv': [b'true']})['exec']})['code'] == 0
    conn.call('sandbox.info', {'id': box})
    conn.call('sandbox.list')
    inside.close()
    conn.call('sandbox.destroy', {'id': box})
    other = rpc.Conn(path)
    other.call('event.subscribe')
    offer = other.call('sandbox.offer')
    assert offer['fds'] == 1
    tree = os.open('/', os.O_RDONLY)
    with socket.socket(fileno=other.take_fd()) as s:
        socket.send_fds(s, [b'x'], [tree])
    os.close(tree)
    fails(other, 'sandbox.create', {
        'backend': backend, 'offer': offer['offer'],
        'mounts': [{'dst': '/proc/x', 'writable': False, 'fd': 0}]})
    other.close()


def control_failures(conn, backend):
    for method, params in (
            ('sandbox.create', {'backend': 'none'}),
            ('sandbox.create', {'backend': backend, 'memory': 'x'}),
            ('sandbox.create', {'backend': backend, 'floor': 'kernel'}),
            ('sandbox.create', {'backend': backend, 'offer': 7, 'mounts': [
                {'dst': '/x', 'writable': False, 'fd': 0}]}),
            ('sandbox.connect', {'id': 'sb_0000000000000000'}),
            ('sandbox.info', {'id': 'none'}),
            ('no.such', {})):
        fails(conn, method, params)
    null = os.open('/dev/null', os.O_RDWR)
    try:
        fails(conn, 'sandbox.list', {'fds': 2}, [null, null])
    except PermissionError:
        # Newer kernels: the socket says that it takes none.
        conn.last -= 1
    os.close(null)


def inside_all(conn):
    """Execs of every kind, and each way in which one fails."""
    null = os.open('/dev/null', os.O_RDWR)
    tree = os.open('/', os.O_RDONLY)
    pipe = os.pipe()
    for params, passed in (
            ({'argv': [b'no-such']}, []),
            ({'argv': [b'true'], 'cwd': b'/no/dir'}, []),
            ({'argv': [b'true'], 'odd': 1}, []),
            ({'argv': [b'true'], 'stdin': 'fd', 'fds': 1}, [tree]),
            ({'argv': [b'true'], 'stdin': 'fd', 'stdout': 'fd', 'fds': 2},
             [pipe[0], pipe[0]]),
            ({'argv': [b'no-such'], 'pty': True}, []),
            ({'argv': [b'no-such'], 'fds': 3}, [null, null, null])):
        fails(conn, 'exec.start', params, passed)
    x = conn.call('exec.start', {'argv': [b'cat'], 'fds': 3},
                  [null, pipe[1], null])
    conn.call('exec.wait', {'exec': x['exec']})
    x = conn.call('exec.start', {'argv': [b'cat'], 'stdin': 'relay'})
    conn.call('exec.attach', {'exec': x['exec']})
    for _ in range(3):
        os.close(conn.take_fd())
    conn.call('exec.wait', {'exec': x['exec']})
    x = conn.call('exec.start', {'argv': [b'tty'], 'pty': True})
    conn.call('exec.wait', {'exec': x['exec']})
    x = conn.call('exec.start', {'argv': [b'sleep', b'1000'],
                                 'stdin': 'relay'})
    conn.call('exec.kill', {'exec': x['exec'], 'signal': 'KILL',
                            'all': True})
    conn.call('exec.wait', {'exec': x['exec']})
    for fd in (null, tree) + pipe:
        os.close(fd)


def leaks(path, rounds, backend, pids):
    conn = rpc.Conn(path)
    # Spares are made ahead, and tables grow, the first time.
    control(conn, path, backend)
    control_failures(conn, backend)
    box = conn.call('sandbox.create', {'backend': backend})['id']
    before = set(children(pids[1]))
    inside = connect(conn, box)
    inside_all(inside)
    time.sleep(0.3)
    workers = [p for p in before if comm(p) in (
        'sandboxd-worker', 'sandboxd-agent')]
    # Who is not dumpable shows its descriptors to root only.
    held = {p: fds(p) for p in pids + workers
            if comm(p) and os.access('/proc/%d/fd' % p, os.R_OK)}
    for _ in range(rounds):
        control_failures(conn, backend)
        inside_all(inside)
    for _ in range(rounds // 4):
        control(conn, path, backend)
    # A spare worker has had its sandbox and is gone.
    held = {p: n for p, n in held.items() if comm(p)}
    assert len(held) >= 4 or os.geteuid() != 0, held
    settles('descriptors', held, lambda: {p: fds(p) for p in held})
    inside.close()
    conn.call('sandbox.destroy', {'id': box})
    conn.close()


def idle(path, rounds, backend, pids):
    """Half-closed streams, a reader that does not read: nobody spins."""
    conn = rpc.Conn(path)
    box = conn.call('sandbox.create', {'backend': backend})['id']
    inside = connect(conn, box)
    held = []
    for i in range(50):
        x = inside.call('exec.start', {'argv': [b'sleep', b'1000'],
                                       'stdin': 'relay'})['exec']
        inside.call('exec.attach', {'exec': x, 'streams': ['stdin',
                                                           'stdout']})
        one = socket.socket(fileno=inside.take_fd())
        one.shutdown(socket.SHUT_WR)
        held += [one, os.fdopen(inside.take_fd(), 'rb')]
    # Its reader does not read; nor does that of a passed pipe.
    x = inside.call('exec.start', {'argv': [b'yes'], 'output': 1 << 20,
                                   'output_full': 'block'})['exec']
    inside.call('exec.attach', {'exec': x, 'streams': ['stdout']})
    held.append(inside.take_fd())
    pipe = os.pipe()
    inside.call('exec.start', {'argv': [b'yes'], 'stdout': 'fd', 'fds': 1},
                [pipe[1]])
    for _ in range(20):
        half = rpc.Conn(path)
        half.call('hello')
        half.sock.shutdown(socket.SHUT_WR)
        held.append(half)
    work = [p for p in pids + children(pids[1])]
    settle = ticks(work)
    end = time.monotonic() + 40
    # The first output is taken in; then nothing moves.
    while time.monotonic() < end:
        time.sleep(0.5)
        now = ticks(work)
        if now - settle <= 1:
            break
        settle = now
    start = ticks(work)
    time.sleep(2)
    used = ticks(work) - start
    assert used <= TICKS * 2 // 20, '%d ticks in 2 s' % used
    conn.call('sandbox.destroy', {'id': box})


def main(path, rounds, backend, pids):
    leaks(path, rounds, backend, pids)
    idle(path, rounds, backend, pids)


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3],
         [int(p) for p in sys.argv[4:]])
