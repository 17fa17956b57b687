# SPDX-License-Identifier: ISC
"""Descriptors whose close takes as long as a client likes: linger.py SOCKET.

TCP sockets that linger, with a peer that does not read, are left behind in
every queue that the daemon may have to close: with a control connection's
bytes, and in offers that are never used or come to nothing.  The daemon has
to answer others all the same.
"""
import array
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(sys.argv[0]), '../sh'))
import rpc  # noqa: E402

SO_PASSRIGHTS = 83
HOUR = 3600
path = sys.argv[1]
peers = []


def lingering():
    listener = socket.socket()
    listener.bind(('127.0.0.1', 0))
    listener.listen(1)
    s = socket.socket()
    s.connect(listener.getsockname())
    peers.append(listener.accept())
    s.setblocking(False)
    try:
        while True:
            s.send(b'x' * 65536)
    except BlockingIOError:
        pass
    set_linger(s, HOUR)
    return s


def set_linger(s, seconds):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                 struct.pack('ii', int(seconds > 0), seconds))


def alive():
    c = rpc.Conn(path)
    c.sock.settimeout(20)
    c.call('hello')
    c.close()


def refuses_rights():
    with socket.socket(socket.AF_UNIX) as s:
        try:
            s.getsockopt(socket.SOL_SOCKET, SO_PASSRIGHTS)
        except OSError:
            return False
    return True


alive()

# Before the daemon has even accepted: the sender is refused.
if refuses_rights():
    s = lingering()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
               array.array('i', [s.fileno()]))]
    for i in range(200):
        with socket.socket(socket.AF_UNIX) as c:
            c.connect(path)
            try:
                c.sendmsg([b'\x94\x00\x01'], rights)
                raise AssertionError('a descriptor passed')
            except PermissionError:
                pass
    set_linger(s, 0)
    s.close()
    alive()

# In offers: of a client that leaves, and of a create that fails.
for i in range(30):
    c = rpc.Conn(path)
    for create in (False, True):
        try:
            number = c.call('sandbox.offer')['offer']
        except rpc.Fault as f:
            assert f['code'] == 'busy', f.error
            continue
        offer = socket.socket(fileno=c.take_fd())
        s = lingering()
        socket.send_fds(offer, [b'x'], [s.fileno()])
        s.close()
        offer.close()
        if create:
            rpc.fault(c, 'sandbox.create', {
                'offer': number, 'fds': 0,
                'mounts': [{'fd': 7, 'dst': '/workspace'}]})
    c.close()
    alive()
