# SPDX-License-Identifier: ISC
# Copyright (c) 2026 the sandboxd authors
"""rpc-session.py SOCKET fds|tunnel: a session, from hello to destroy."""

import os
import sys

import rpc
from rpc import fault, read_exec

ALL_BYTES = bytes(range(256)) * 300


def is_(got, wanted, what=''):
    assert got == wanted, ('%s: got %r, wanted %r' % (what, got, wanted))[:600]


def check_errors(conn, box):
    is_(fault(conn, 'no.such')['code'], 'unsupported')
    f = fault(conn, 'sandbox.info', {'id': box, 'odd': 1})
    is_((f['code'], f['key']), ('invalid', 'odd'))
    f = fault(conn, 'sandbox.info', {'id': 'sb_0000000000000000'})
    is_(f['code'], 'not_found')
    f = fault(conn, 'sandbox.create', {'memory': 'much'})
    is_((f['code'], f['key']), ('invalid', 'memory'))


def check_exec_errors(conn):
    f = fault(conn, 'exec.start', {'argv': [b'/no/such/tool']})
    is_((f['key'], f['errno'], f['path']), ('execve', 2, '/no/such/tool'))
    f = fault(conn, 'exec.start', {'argv': [b'no-such-tool']})
    is_((f['key'], f['errno'], f['path']), ('lookup', 2, 'no-such-tool'))
    f = fault(conn, 'exec.start', {'argv': [b'true'], 'cwd': b'/no/dir'})
    is_((f['key'], f['errno'], f['path']), ('cwd', 2, '/no/dir'))
    is_(fault(conn, 'exec.wait', {'exec': 12345})['code'], 'not_found')
    f = fault(conn, 'exec.start', {'argv': [b'true'], 'odd': 1})
    is_((f['code'], f['key']), ('invalid', 'odd'))


def relayed(conn):
    """Output is kept and read from offsets; input is written."""
    x = conn.call('exec.start', {
        'argv': [b'sh', b'-c', b'cat; echo err >&2; exit 7'],
        'stdin': 'relay', 'env': {'A': b'\xff'}, 'tag': 'mine'})
    is_(x['mode'], {'stdin': 'relay', 'stdout': 'relay', 'stderr': 'relay'})
    sent = 0
    while sent < len(ALL_BYTES):
        r = conn.call('exec.write', {'exec': x['exec'],
                                     'data': ALL_BYTES[sent:sent + 30000]})
        sent += r['written']
    conn.call('exec.write', {'exec': 'mine', 'data': b'', 'eof': True})
    is_(read_exec(conn, x['exec'], 'stdout'), ALL_BYTES)
    is_(read_exec(conn, x['exec'], 'stderr', 1), b'err\n')
    r = conn.call('exec.wait', {'exec': x['exec']})
    is_((r['exec'], r['code'], r['cause']), (x['exec'], 7, 'exit'))
    assert r['wall'] >= 0 and r['peak'] > 0, r
    # Read again, and a part of it.
    r = conn.call('exec.read', {'exec': x['exec'], 'stream': 'stdout',
                                'offset': 1000, 'max': 10})
    is_(r['data'], ALL_BYTES[1000:1010])
    # No bytes are bytes too.
    x = conn.call('exec.start', {'argv': [b'true']})
    is_(read_exec(conn, x['exec'], 'stdout'), b'')
    return 2


def at_once(conn):
    """Requests run at the same time, and one that names an exec waits."""
    slow = conn.call('exec.start', {'shell': b'read x; exit 4',
                                    'stdin': 'relay'})['exec']
    waiting = conn.send('exec.wait', {'exec': slow})
    quick = conn.send('exec.start', {'shell': b'kill -TERM $$',
                                     'tag': 'quick'})
    ended = conn.send('exec.wait', {'exec': 'quick'})
    is_(conn.answer(ended)['signal'], 15)
    assert conn.answer(quick)['exec'] > slow
    assert waiting not in conn.answers
    conn.call('exec.write', {'exec': slow, 'data': b'\n'})
    is_(conn.answer(waiting)['code'], 4)
    # A deadline, and a kill.
    x = conn.call('exec.start', {'shell': b'setsid sleep 1000 & sleep 1000',
                                 'timeout': 0.2})
    r = conn.call('exec.wait', {'exec': x['exec']})
    is_((r['cause'], r['signal']), ('timeout', 9))
    x = conn.call('exec.start', {'argv': [b'sleep', b'1000']})
    conn.call('exec.kill', {'exec': x['exec'], 'signal': 'HUP'})
    is_(conn.call('exec.wait', {'exec': x['exec']})['signal'], 1)
    return 4


def terminal(conn):
    """A terminal has its size from the start, and one output."""
    x = conn.call('exec.start', {
        'shell': b'stty -echo; stty size; tty; read x; stty size',
        'pty': True, 'rows': 40, 'cols': 100})
    out = b''
    while out.count(b'\n') < 2:
        out += conn.call('exec.read', {
            'exec': x['exec'], 'stream': 'stdout', 'offset': len(out),
            'max': 100, 'wait_ms': 10000})['data']
    assert out.startswith(b'40 100\r\n/dev/pts/'), out
    conn.call('exec.resize', {'exec': x['exec'], 'rows': 50, 'cols': 90})
    conn.call('exec.write', {'exec': x['exec'], 'data': b'\n'})
    is_(read_exec(conn, x['exec'], 'stdout'), out + b'50 90\r\n')
    return 1


def passed(conn):
    """The program has our own descriptors."""
    pipe = os.pipe()
    out = os.pipe()
    null = os.open('/dev/null', os.O_RDWR)
    x = conn.call('exec.start', {'argv': [b'cat'], 'stdin': 'fd',
                                 'stdout': 'fd', 'stderr': 'fd', 'fds': 3},
                  [pipe[0], out[1], null])
    is_(x['mode'], {'stdin': 'fd', 'stdout': 'fd', 'stderr': 'fd'})
    os.close(pipe[0])
    os.close(out[1])
    os.write(pipe[1], b'through\0')
    os.close(pipe[1])
    with os.fdopen(out[0], 'rb') as f:
        is_(f.read(), b'through\0')
    is_(conn.call('exec.wait', {'exec': x['exec']})['code'], 0)
    # What must not be passed.
    for fd, stream in ((conn.sock.fileno(), 'stdin'),
                       (os.open('/', os.O_RDONLY), 'stdin'),
                       (os.open('/', os.O_PATH), 'stdin'),
                       (os.open('/dev/zero', os.O_RDONLY), 'stdin')):
        f = fault(conn, 'exec.start', {'argv': [b'cat'], stream: 'fd',
                                       'fds': 1}, [fd])
        is_((f['code'], f['key']), ('invalid', stream))
    # A stream of our own, from an offset.
    x = conn.call('exec.start', {'shell': b'seq 1 1000'})
    conn.call('exec.wait', {'exec': x['exec']})
    r = conn.call('exec.attach', {'exec': x['exec'], 'streams': ['stdout'],
                                  'offset': 2})
    is_(r['fds'], 1)
    with os.fdopen(conn.take_fd(), 'rb') as f:
        is_(f.read(), b''.join(b'%d\n' % n for n in range(2, 1001)))
    return 2


def check_events(events, box, nexec):
    """What happened, in order, and numbered without a gap."""
    wanted = ['created'] + ['exec', 'exit'] * nexec + ['destroyed']
    got, seq = [], None
    while len(got) < len(wanted):
        e = events.event()
        assert seq is None or e['seq'] == seq + 1, (e, seq)
        seq = e['seq']
        if e['id'] == box and e['kind'] in wanted:
            got.append(e['kind'])
    is_(got[0], 'created')
    is_(got[-1], 'destroyed')
    is_(sorted(got), sorted(wanted))
    return seq


def main(path, how):
    conn = rpc.Conn(path)
    hello = conn.call('hello')
    is_(hello['protocol'], 1)
    assert hello['version'] and hello['pid'] > 1 and hello['boot'], hello
    events = rpc.Conn(path)
    before = events.call('event.subscribe')
    is_(before['boot'], hello['boot'])

    info = conn.call('sandbox.create', {'name': 'py-' + how,
                                        'labels': {'a': 'b'}})
    box = info['id']
    is_((info['state'], info['name']), ('running', 'py-' + how))
    is_(info['owner'], 'uid:%d' % os.getuid())
    assert info['backend'] and isinstance(info['protections'], list), info
    check_errors(conn, box)
    is_(conn.call('sandbox.info', {'id': 'py-' + how})['id'], box)

    if how == 'tunnel':
        inside = rpc.Conn(path)
        r = inside.call('sandbox.connect', {'id': box, 'tunnel': True})
        is_(r['tunnel'], True)
    else:
        r = conn.call('sandbox.connect', {'id': box})
        is_(r['fds'], 1)
        inside = rpc.Conn(conn.take_fd())
    check_exec_errors(inside)
    nexec = relayed(inside) + at_once(inside) + terminal(inside)
    if how != 'tunnel':
        nexec += passed(inside)
    r = inside.call('exec.list', {'max': 2})
    is_((len(r['execs']), r['more']), (2, True))

    gone = events.send('sandbox.wait', {'id': box})
    is_(conn.call('sandbox.destroy', {'id': box})['id'], box)
    is_(conn.call('sandbox.destroy', {'id': box})['id'], box)
    is_(events.answer(gone)['cause'], 'destroyed')
    while inside.recv():
        pass
    rows = conn.call('sandbox.list')
    assert box not in [s['id'] for s in rows['sandboxes']], rows
    last = check_events(events, box, nexec)

    # All of it again, from the log.
    again = rpc.Conn(path)
    again.call('event.subscribe', {'since': before['seq']})
    is_(check_events(again, box, nexec), last)
    for c in (again, inside, events, conn):
        c.close()


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])
