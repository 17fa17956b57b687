# SPDX-License-Identifier: ISC
# Copyright (c) 2026 the sandboxd authors
"""odd.py SOCKET: every parameter of every method with every odd value is
accepted as documented or refused with code, key, words and advice; nobody
but the sender of broken bytes loses its connection."""

import os
import random
import socket
import sys

import msgpack
import rpc

CODES = {'invalid', 'denied', 'not_found', 'conflict', 'limit', 'too_large',
         'busy', 'unsupported', 'unavailable', 'backend', 'timeout'}
# internal is nobody's answer to what a client can send.
ODD = [None, True, 0, -1, 1.5, 2**31, 2**32, 2**63, 2**64 - 1, float('nan'),
       float('inf'), -0.0, '', 'x', '1', b'\xff', 'a' * 70000, 'nul\0',
       '\x1b[31m\r\n', '../..', '/', '-x', ';`id`$(id)%s%n', [], [1], {},
       {'a': 'b'}, {1: 2}, [[[[]]]]]
CONTROL = {
    'hello': [],
    'server.check': ['fresh'],
    'server.stats': [],
    'sandbox.offer': [],
    'sandbox.create': [
        'name', 'labels', 'token', 'profile', 'backend', 'floor', 'image',
        'network', 'env', 'mounts', 'offer', 'memory', 'cpus', 'pids',
        'tmp', 'files', 'ttl', 'timeout', 'cpu_time', 'output',
        'best_effort'],
    'sandbox.connect': ['id', 'tunnel'],
    'sandbox.destroy': ['id'],
    'sandbox.list': ['after', 'max', 'all', 'name'],
    'sandbox.info': ['id'],
    'sandbox.wait': ['id'],
    'event.subscribe': ['since'],
}
EXEC = {
    'exec.start': ['argv', 'shell', 'env', 'cwd', 'stdin', 'stdout',
                   'stderr', 'tag', 'output_full', 'on_disconnect', 'rows',
                   'cols', 'timeout', 'cpu_time', 'output', 'pty'],
    'exec.wait': ['exec'],
    'exec.info': ['exec'],
    'exec.list': ['after', 'max'],
    'exec.kill': ['exec', 'signal', 'all'],
    'exec.resize': ['exec', 'rows', 'cols'],
    'exec.attach': ['exec', 'streams', 'offset'],
    'exec.read': ['exec', 'stream', 'offset', 'max', 'wait_ms'],
    'exec.write': ['exec', 'data', 'eof'],
}
NUMBERS = {'memory', 'cpus', 'pids', 'tmp', 'files', 'ttl', 'timeout',
           'cpu_time', 'output'}


def check(error, what):
    """An error of the documented form, in one printable line."""
    assert set(error) == {'code', 'message', 'key', 'errno', 'path',
                          'fix'}, (what, error)
    assert error['code'] in CODES, (what, error)
    assert error['message'] and error['fix'], (what, error)
    for text in ('message', 'key', 'path', 'fix'):
        assert error[text].isprintable(), (what, error)


def ask(conn, method, params):
    """The answer, or None when it is refused."""
    try:
        return conn.call(method, params)
    except rpc.Fault as f:
        check(f.error, (method, str(params)[:200]))
        return None


def forget(conn):
    while conn.fds:
        os.close(conn.take_fd())


def odd_control(conn):
    for method, keys in CONTROL.items():
        good = {'sandbox.create': {'best_effort': True}}.get(method, {})
        for key in keys + ['odd']:
            for value in ODD:
                if method == 'sandbox.connect' and key == 'tunnel':
                    continue
                r = ask(conn, method, dict(good, **{key: value}))
                if method == 'sandbox.create' and r:
                    # A limit that was not asked for is never made of it.
                    if key in NUMBERS and value is not None:
                        assert not isinstance(value, str), (key, value)
                        assert 0 < value < 2**63, (key, value)
                    conn.call('sandbox.destroy', {'id': r['id']})
                assert r is None or key != 'odd', method
                forget(conn)


def odd_exec(conn):
    live = conn.call('exec.start', {'argv': [b'cat'],
                                    'stdin': 'relay'})['exec']
    for method, keys in EXEC.items():
        good = {'exec': live}
        if method == 'exec.start':
            good = {'argv': [b'true'], 'timeout': 20}
        for key in keys + ['odd']:
            for value in ODD:
                if (method, key) in (('exec.read', 'wait_ms'),
                                     ('exec.wait', 'exec')) and \
                        value in (1, 2**31, True):
                    continue
                params = dict(good, **{key: value})
                if key == 'shell':
                    del params['argv']
                r = ask(conn, method, params)
                assert r is None or key != 'odd', method
                forget(conn)
    conn.call('exec.kill', {'exec': live, 'signal': 'KILL'})


def garbage(path, seed):
    """Broken bytes end the connection that they came on."""
    rng = random.Random(seed)
    whole = msgpack.packb([0, 1, 'sandbox.list', [{'max': 5}]])
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.settimeout(rpc.TIMEOUT)
            try:
                s.sendall(data[:rng.randrange(1, len(data) + 1)])
                s.shutdown(socket.SHUT_WR)
                unpacker = msgpack.Unpacker()
                while True:
                    got = s.recv(65536)
                    if not got:
                        break
                    unpacker.feed(got)
                for message in unpacker:
                    if message[2]:
                        check(message[2], bytes(data))
            except (BrokenPipeError, ConnectionResetError):
                pass


def main(path):
    watcher = rpc.Conn(path)
    before = watcher.call('hello')
    conn = rpc.Conn(path)
    odd_control(conn)
    box = conn.call('sandbox.create', {'env': {'A': b'b'}})['id']
    conn.call('sandbox.connect', {'id': box})
    inside = rpc.Conn(conn.take_fd())
    odd_exec(inside)
    garbage(path, 1)
    assert watcher.call('hello') == before
    assert inside.call('exec.wait', {'exec': inside.call(
        'exec.start', {'argv': [b'true']})['exec']})['code'] == 0
    conn.call('sandbox.destroy', {'id': box})


if __name__ == '__main__':
    main(sys.argv[1])
