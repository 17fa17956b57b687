#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
# Copyright (c) 2026 the sandboxd authors
"""Writes the wire vectors beside this file.

One file per vector, in a directory per kind:

  frame, bad-frame    header and body between our processes; the frames of
                      all messages are made from proto/messages.h
  rpc                 what clients send and get
  refused-rpc         requests that are answered with an error
  bad-rpc             what ends the connection
  spec, bad-spec      maps of sandbox.create
  value, bad-value    msgpack

It packs by itself, so that proto/ is compared with something else.  Run it
after a change of messages.h and commit what it wrote.
"""

import os
import re
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
U64 = 2 ** 64 - 1


def pack_number(n):
    """An integer in its shortest form."""
    if -32 <= n <= 127:
        return struct.pack('b', n)
    for first, form, low, high in (
            (0xcc, '>B', 0, 2 ** 8), (0xcd, '>H', 0, 2 ** 16),
            (0xce, '>I', 0, 2 ** 32), (0xcf, '>Q', 0, 2 ** 64),
            (0xd0, '>b', -2 ** 7, 0), (0xd1, '>h', -2 ** 15, 0),
            (0xd2, '>i', -2 ** 31, 0), (0xd3, '>q', -2 ** 63, 0)):
        if low <= n < high:
            return bytes([first]) + struct.pack(form, n)
    raise ValueError(n)


def pack_head(n, fix, fix_max, forms):
    """The head of something with n bytes or members."""
    if n <= fix_max:
        return bytes([fix | n])
    for first, form, end in forms:
        if n < end:
            return bytes([first]) + struct.pack(form, n)
    raise ValueError(n)


def pack(v):
    """Any value; bytes are bin, Raw is taken as it is."""
    if isinstance(v, Raw):
        return v.data
    if v is None:
        return b'\xc0'
    if isinstance(v, bool):
        return b'\xc3' if v else b'\xc2'
    if isinstance(v, int):
        return pack_number(v)
    if isinstance(v, float):
        return b'\xcb' + struct.pack('>d', v)
    if isinstance(v, str):
        b = v.encode()
        return pack_head(len(b), 0xa0, 31, (
            (0xd9, '>B', 2 ** 8), (0xda, '>H', 2 ** 16),
            (0xdb, '>I', 2 ** 32))) + b
    if isinstance(v, bytes):
        return pack_head(len(v), 0, -1, (
            (0xc4, '>B', 2 ** 8), (0xc5, '>H', 2 ** 16),
            (0xc6, '>I', 2 ** 32))) + v
    if isinstance(v, (list, tuple)):
        return pack_head(len(v), 0x90, 15, (
            (0xdc, '>H', 2 ** 16), (0xdd, '>I', 2 ** 32))) + \
            b''.join(pack(i) for i in v)
    return pack_head(len(v), 0x80, 15, (
        (0xde, '>H', 2 ** 16), (0xdf, '>I', 2 ** 32))) + \
        b''.join(pack(k) + pack(i) for k, i in v.items())


class Raw:
    """Bytes that are packed already."""

    def __init__(self, data):
        self.data = data


def write(kind, name, data):
    """One vector."""
    os.makedirs(os.path.join(HERE, kind), exist_ok=True)
    with open(os.path.join(HERE, kind, name), 'wb') as f:
        f.write(data)


def frame(number, body, nfds=0, rid=7, version=1, zero=0, length=None):
    """A frame with its header."""
    return struct.pack('<IHHIHH', len(body) if length is None else length,
                       number, version, rid, nfds, zero) + body


def read_messages():
    """(name, number, descriptors, [(verb, field, max)]) of each message."""
    with open(os.path.join(TOP, 'proto', 'messages.h')) as f:
        text = f.read()
    with open(os.path.join(TOP, 'proto', 'limits.h')) as f:
        limits = dict(re.findall(r'#define (\w+)\s+\(?([\d *]+)\)?', f.read()))
    text = text.replace('\\\n', ' ')
    limits.update({'UINT64_MAX': '2**64-1', 'UINT32_MAX': '2**32-1',
                   'INT64_MAX': '2**63-1', 'INT32_MAX': '2**31-1'})
    for name, number, nfds in re.findall(
            r'MSG\((\w+),\s*\w+,\s*\w+,\s*(\d+),\s*(\d+)\)', text):
        fields = re.search(r'#define MSG_%s_FIELDS\([^)]*\)([^#]*)' % name,
                           text).group(1)
        fields = re.sub(r'/\*.*?\*/', '', fields, flags=re.S)
        yield name, int(number), int(nfds), [
            (verb, field, limits.get(top, top)) for verb, field, top in
            re.findall(r'([UIBSDR])\((\w+)(?:,\s*(\w+))?\)', fields)]


def sample(verb, field, top):
    """A value that the field takes."""
    top = eval(top) if top else 0  # digits, * and - only: our own header
    if verb == 'U':
        return top if len(field) % 2 else min(top, 5)
    if verb == 'R':
        return {'k': [1, 'two', b'three', None, -4, 5.5]}
    return {'I': -300, 'B': True, 'S': 'sb_0123456789abcdef'[:top],
            'D': b'/work\xff'[:top]}[verb]


def make_frames():
    """A good frame of every message, and bad ones."""
    for name, number, nfds, fields in read_messages():
        write('frame', name.lower(), frame(
            number, pack([sample(*f) for f in fields]), nfds))
    bad = {
        'short-header': b'\1\0\0\0\1',
        'type-0': frame(0, b'\x90'),
        'type-unknown': frame(200, b'\x90'),
        'type-65535': frame(65535, b'\x90'),
        'version-0': frame(4, pack([1]), version=0),
        'version-2': frame(4, pack([1]), version=2),
        'reserved': frame(4, pack([1]), zero=1),
        'length-more': frame(4, pack([1]), length=3),
        'length-less': frame(4, pack([1]), length=1),
        'length-huge': frame(4, pack([1]), length=2 ** 32 - 1),
        'fds-undeclared': frame(4, pack([1]), nfds=1),
        'fds-65535': frame(4, pack([1]), nfds=65535),
        'empty': frame(4, b''),
        'not-array': frame(4, pack(1)),
        'array-short': frame(4, pack([])),
        'array-long': frame(4, pack([1, 2])),
        'array-32-huge': frame(4, b'\xdd\xff\xff\xff\xff'),
        'trailing': frame(4, pack([1]) + b'\0'),
        'negative': frame(4, pack([-1])),
        'float': frame(4, pack([1.0])),
        'nil': frame(4, pack([None])),
        'uint-above-max': frame(12, pack([2 ** 32])),
        'bool-number': frame(13, pack([1, 1])),
        'text-bin': frame(10, pack([b'sb_0123456789abcdef'])),
        'text-nul': frame(10, pack(['sb_\x000123'])),
        'text-long': frame(10, pack(['sb_0123456789abcdef0'])),
        'ext': frame(4, b'\x91\xd4\1\1'),
        'raw-cut': frame(1, b'\x91\x93\1\2'),
        'raw-deep': frame(1, b'\x91' * 17 + b'\1'),
        'str-overrun': frame(10, b'\x91\xdb\xff\xff\xff\xff'),
    }
    for name, data in bad.items():
        write('bad-frame', name, data)


def request(method, params, rid=1):
    """A request as clients send it."""
    return pack([0, rid, method, [params]])


def make_rpc():
    """Messages of client connections."""
    good = {
        'hello': request('hello', {}),
        'no-params': pack([0, 0, 'hello', []]),
        'id-max': request('hello', {}, 2 ** 32 - 1),
        'create': request('sandbox.create', {
            'profile': 'python', 'memory': 2 ** 29, 'cpus': 1.5, 'ttl': 60,
            'labels': {'course': 'c1'}, 'env': {'A': b'\xff'},
            'connect': True}),
        'start': request('exec.start', {
            'argv': [b'/bin/sh', b'-c', b'exit 7'], 'stdin': 'null',
            'stdout': 'relay', 'cwd': '/workspace', 'timeout': 30}),
        'read': request('exec.read', {
            'exec': 1, 'stream': 'stdout', 'offset': 2 ** 40, 'max': 65536,
            'wait_ms': 1000}),
        'result': pack([1, 1, None, {'id': 'sb_0123456789abcdef'}]),
        'result-nil': pack([1, 1, None, None]),
        'error': pack([1, 1, {
            'code': 'not_found', 'message': 'no such sandbox', 'key': 'id',
            'errno': 2, 'path': '', 'fix': ''}, None]),
        'event': pack([2, 'event', [{'seq': 1, 'kind': 'created'}]]),
        'long-forms': b'\xdd\0\0\0\4\xcf' + b'\0' * 8 + b'\xd3' +
                      b'\0' * 7 + b'\1\xdb\0\0\0\5hello\xdc\0\1\xdf\0\0\0\0',
        'large': request('exec.write', {'exec': 1, 'data': b'x' * 5000}),
    }
    refused = {
        'params-number': pack([0, 1, 'hello', 5]),
        'params-map': pack([0, 1, 'hello', {}]),
        'params-two': pack([0, 1, 'hello', [{}, {}]]),
        'params-nil': pack([0, 1, 'hello', [None]]),
        'fds-missing': request('exec.start', {'fds': 2}),
        'fds-many': request('exec.start', {'fds': 2 ** 40}),
    }
    bad = {
        'number': pack(5),
        'map': pack({}),
        'empty': pack([]),
        'kind-3': pack([3, 1, 'hello', [{}]]),
        'kind-text': pack(['0', 1, 'hello', [{}]]),
        'kind-negative': pack([-1, 1, 'hello', [{}]]),
        'request-short': pack([0, 1, 'hello']),
        'request-long': pack([0, 1, 'hello', [{}], 1]),
        'notify-long': pack([2, 'event', [{}], 1]),
        'id-33-bits': request('hello', {}, 2 ** 32),
        'id-negative': request('hello', {}, -1),
        'id-nil': pack([0, None, 'hello', [{}]]),
        'method-long': request('m' * 65, {}),
        'method-nul': request('he\0llo', {}),
        'method-bin': pack([0, 1, b'hello', [{}]]),
        'notify-number': pack([2, 'event', [1]]),
        'ext': b'\x94\0\1\xa5hello\x91\xd4\0\0',
        'unused-byte': b'\x94\0\1\xc1',
        'deep': b'\x94\0\1\xa1m' + b'\x91' * 40,
        'array-huge': b'\x94\0\1\xa1m\xdd\xff\xff\xff\xff',
        'map-huge': b'\x94\0\1\xa1m\x91\xdf\x7f\xff\xff\xff',
    }
    for kind, vectors in (('rpc', good), ('refused-rpc', refused),
                          ('bad-rpc', bad)):
        for name, data in vectors.items():
            write(kind, name, data)


def make_spec():
    """Maps of sandbox.create."""
    full = {
        'name': 'box.1', 'labels': {'a': 'b', 'c': ''}, 'token': 't',
        'profile': 'python', 'backend': 'ns', 'floor': 'namespace',
        'image': 'host', 'network': 'none', 'env': {'A': b'1', 'B': 'x y'},
        'mounts': [{'dst': '/workspace', 'fd': 0, 'writable': True},
                   {'dst': '/data', 'fd': 15}],
        'offer': 3, 'memory': 2 ** 30, 'cpus': 1.5, 'pids': 64,
        'tmp': 2 ** 20, 'files': 1024, 'ttl': 3600, 'timeout': 0.25,
        'cpu_time': 10, 'output': 2 ** 24, 'connect': True,
        'best_effort': False, 'die_with_client': True}
    write('spec', 'full', pack(full))
    write('spec', 'empty', pack({}))
    write('spec', 'nils', pack({key: None for key in full}))
    for key, value in full.items():
        write('spec', key.replace('_', '-'), pack({key: value}))
    pair = pack('memory') + pack(1)
    bad = {
        'array': pack([]),
        'nil': pack(None),
        'key-unknown': pack({'memroy': 1}),
        'key-number': pack({1: 1}),
        'key-bin': pack({b'memory': 1}),
        'key-twice': b'\x82' + pair + pair,
        'trailing': b'\x81' + pair + b'\0',
        'memory-zero': pack({'memory': 0}),
        'memory-negative': pack({'memory': -1}),
        'memory-float': pack({'memory': 1.0}),
        'memory-text': pack({'memory': '512M'}),
        'memory-64-bits': pack({'memory': U64}),
        'cpus-zero': pack({'cpus': 0}),
        'cpus-tiny': pack({'cpus': 0.0001}),
        'cpus-negative': pack({'cpus': -1.5}),
        'ttl-nan': pack({'ttl': float('nan')}),
        'ttl-infinite': pack({'ttl': float('inf')}),
        'ttl-huge': pack({'ttl': 1e300}),
        'ttl-64-bits': pack({'ttl': U64}),
        'name-dash': pack({'name': '-rf'}),
        'name-slash': pack({'name': 'a/b'}),
        'name-empty': pack({'name': ''}),
        'name-long': pack({'name': 'n' * 65}),
        'name-nul': pack({'name': 'a\0b'}),
        'floor-word': pack({'floor': 'roof'}),
        'connect-number': pack({'connect': 1}),
        'labels-array': pack({'labels': []}),
        'labels-number': pack({'labels': {'a': 1}}),
        'labels-empty-name': pack({'labels': {'': 'x'}}),
        'labels-many': pack({'labels': {'l%d' % i: '' for i in range(33)}}),
        'labels-long': pack({'labels': {'a': 'x' * 257}}),
        'env-equals': pack({'env': {'A=B': 'x'}}),
        'env-empty-name': pack({'env': {'': 'x'}}),
        'env-nul': pack({'env': {'A': 'x\0y'}}),
        'env-number': pack({'env': {'A': 1}}),
        'mounts-map': pack({'mounts': {}}),
        'mounts-number': pack({'mounts': [1]}),
        'mounts-relative': pack({'mounts': [{'dst': 'a', 'fd': 0}]}),
        'mounts-no-fd': pack({'mounts': [{'dst': '/a'}]}),
        'mounts-fd-16': pack({'mounts': [{'dst': '/a', 'fd': 16}]}),
        'mounts-key': pack({'mounts': [{'dst': '/a', 'fd': 0, 'x': 1}]}),
        'mounts-many': pack({'mounts': [{'dst': '/a', 'fd': 0}] * 17}),
    }
    for name, data in bad.items():
        write('bad-spec', name, data)


def make_values():
    """msgpack, well-formed and not."""
    good = {
        'nil': pack(None), 'false': pack(False), 'true': pack(True),
        'fixint': pack(127), 'negative-fixint': pack(-32),
        'float-32': b'\xca\x3f\x80\0\0', 'float-64': pack(0.1),
        'empty-array': pack([]), 'empty-map': pack({}),
        'str-31': pack('x' * 31), 'str-8': pack('x' * 255),
        'str-16': pack('x' * 256), 'str-bad-utf8': b'\xa2\xc3\x28',
        'bin-8': pack(b'\0' * 20), 'bin-16': pack(b'\0' * 256),
        'array-16': pack(list(range(16))),
        'map-16': pack({str(i): i for i in range(16)}),
        'depth-16': b'\x91' * 16 + b'\xc0',
        'long-forms': b'\x9c\xcc\1\xcd\0\1\xce\0\0\0\1\xd0\1\xd1\0\1'
                      b'\xd2\0\0\0\1\xd9\1a\xda\0\1a\xdb\0\0\0\1a'
                      b'\xc5\0\1a\xc6\0\0\0\1a\xdf\0\0\0\1\1\1',
        'mixed': pack({'a': [1, {'b': [None, True, -1.5]}], 'c': b'd'}),
    }
    for bits in (8, 16, 32, 64):
        good['uint-%d' % bits] = pack(2 ** bits - 1)
        good['int-%d' % bits] = pack(-2 ** (bits - 1))
    bad = {
        'unused-byte': b'\xc1',
        'depth-17': b'\x91' * 17 + b'\xc0',
        'depth-1000': b'\x91' * 1000,
        'depth-maps': b'\x81\xa1a' * 40,
        'array-32-huge': b'\xdd\xff\xff\xff\xff\0',
        'array-32-above': b'\xdd\0\1\0\1\0',
        'map-32-huge': b'\xdf\xff\xff\xff\xff\0',
        'map-32-half': b'\xdf\x80\0\0\0\0',
    }
    for byte, size in ((0xc7, 3), (0xc8, 4), (0xc9, 6), (0xd4, 3),
                       (0xd5, 4), (0xd6, 6), (0xd7, 10), (0xd8, 18)):
        bad['ext-%02x' % byte] = bytes([byte]) + b'\0' * (size - 1)
    for name, data in good.items():
        write('value', name, data)
    for name, data in bad.items():
        write('bad-value', name, data)


if __name__ == '__main__':
    make_frames()
    make_rpc()
    make_spec()
    make_values()
