# SPDX-License-Identifier: ISC
"""A taken-over front: takeover.py BROKER RUNDIR SOCKET UIDS_BASE BACKEND.

Starts the broker as the front would and then plays foul on the front's side
of the wire: forged handles and owners, foreign ids, replayed policy, odd
fields and descriptors.  Prints one line per attempt; exit 1 if one succeeds.
Run as root by takeover.sh.
"""
import os
import socket
import struct
import subprocess
import sys
import time

import msgpack

broker, run, path, base, backend = sys.argv[1:6]
HEADER = struct.Struct("<IHHIHH")
POLICY, READY, CLIENT, DROP, CREATE, CREATED, CONNECT, CONNECTED = range(1, 9)
DESTROY, DESTROYED, OFFER, OFFERED, CHECK, CHECKED, GONE, FAILED = range(9, 17)
bad = 0


class Broker:
    def __init__(self, name):
        self.sock, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.sock.settimeout(30)
        self.run = run + name
        self.path = path + name
        os.makedirs(self.run + "/front", 0o700, exist_ok=True)

        def child():
            os.dup2(theirs.fileno(), 3)

        self.p = subprocess.Popen([broker, "-r", self.run], pass_fds=[3],
                                  preexec_fn=child, stdin=subprocess.DEVNULL)
        theirs.close()
        self.queue = []

    def policy(self, **more):
        p = {"uid": int(base) + 50, "gid": int(base) + 50, "base": int(base),
             "count": 8 * 65536, "order": [backend], "override": "",
             "listen": [{"path": self.path, "mode": 0o666, "gid": 0}],
             "defaults": {}, "profiles": [{"name": "small",
                                           "spec": {"memory": 1 << 26}}],
             "rules": [], "private": False}
        p.update(more)
        return msgpack.packb([p])

    def send(self, kind, fields, rid=1, version=1, fds=(), raw=None,
             nfds=None):
        body = msgpack.packb(fields) if raw is None else raw
        data = HEADER.pack(len(body), kind, version, rid,
                           len(fds) if nfds is None else nfds, 0) + body
        anc = []
        if fds:
            anc = [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                    struct.pack("%di" % len(fds), *fds))]
        try:
            self.sock.sendmsg([data], anc, socket.MSG_NOSIGNAL)
        except OSError:
            pass

    def recv(self, want=None):
        """The next frame (type, id, fields, fds); None when closed."""
        for i, f in enumerate(self.queue):
            if want is None or f[0] in want:
                return self.queue.pop(i)
        while True:
            try:
                data, anc, _, _ = self.sock.recvmsg(
                    400000, socket.CMSG_SPACE(64))
            except OSError:
                return None
            if not data:
                return None
            fds = []
            for _, _, d in anc:
                fds += struct.unpack("%di" % (len(d) // 4), d)
            n, kind, _, rid, _, _ = HEADER.unpack(data[:16])
            f = (kind, rid, msgpack.unpackb(data[16:], strict_map_key=False),
                 fds)
            if want is None or kind in want:
                return f
            self.queue.append(f)

    def start(self):
        self.send(POLICY, None, raw=self.policy())
        f = self.recv([READY, FAILED])
        assert f and f[0] == READY, f

    def client(self):
        c = socket.socket(socket.AF_UNIX)
        c.connect(self.path)
        f = self.recv([CLIENT])
        return c, f[2][0], f[3]

    def ask(self, kind, fields, want, rid):
        self.send(kind, fields, rid)
        return self.recv([want, FAILED])

    def end(self):
        self.sock.close()
        return self.p.wait(30)


def check(name, refused, detail=""):
    global bad
    print("refused" if refused else "ALLOWED", name, "" if refused else detail,
          flush=True)
    if not refused:
        bad = 1


def expect_end(name, play):
    """A broken frame from the front ends the broker."""
    b = Broker(".x")
    b.start()
    play(b)
    try:
        b.p.wait(20)
        check(name, True)
    except subprocess.TimeoutExpired:
        check(name, False, "the broker lives on")
        b.end()
    b.sock.close()


SPEC = {"backend": backend}

# Before the policy nothing else is served.
b = Broker(".a")
b.send(CREATE, [1, "sb_0000000000000001", SPEC], 5)
f = b.recv([CREATED, FAILED])
check("a create before the policy", f is None or f[0] == FAILED, f)
b.end()

b = Broker(".b")
b.start()
c, handle, fds = b.client()
f = b.ask(CREATE, [handle, "sb_00000000000000aa", SPEC], CREATED, 10)
assert f and f[0] == CREATED, f
check("a create for a forged handle", b.ask(
    CREATE, [handle ^ 1, "sb_00000000000000ab", SPEC], CREATED, 11)[0] == FAILED)
check("a create for handle 0", b.ask(
    CREATE, [0, "sb_00000000000000ac", SPEC], CREATED, 12)[0] == FAILED)
check("an id that is taken", b.ask(
    CREATE, [handle, "sb_00000000000000aa", SPEC], CREATED, 13)[0] == FAILED)
for i, sid in enumerate(("../../../etc/x", "sb_", "sb_00000000000000AA", "x",
                         "sb_/../../aaaaaaaa")):
    check("the id " + sid, b.ask(
        CREATE, [handle, sid, SPEC], CREATED, 20 + i)[0] == FAILED)
for i, (what, spec) in enumerate((
        ("a profile's ceiling", {"profile": "small", "memory": 1 << 40}),
        ("an unknown profile", {"profile": "big"}),
        ("the host backend", {"backend": "host"}),
        ("an owner in the spec", {"owner": 0, "uid": 0}),
        ("mounts without an offer", {"mounts": [
            {"dst": "/x", "writable": True, "fd": 0}]}),
        ("a forged offer", {"offer": 77, "mounts": [
            {"dst": "/x", "writable": True, "fd": 0}]}),
        ("the host's network", {"network": "host"}),
        ("a floor above", {"floor": "kernel"}))):
    f = b.ask(CREATE, [handle, "sb_00000000000001%02x" % i, dict(SPEC, **spec)],
              CREATED, 40 + i)
    check(what, f[0] == FAILED, f)
check("a connect for a forged handle", b.ask(
    CONNECT, [handle ^ 1, "sb_00000000000000aa"], CONNECTED, 60)[0] == FAILED)
check("a connect to an unknown id", b.ask(
    CONNECT, [handle, "sb_00000000000000ff"], CONNECTED, 61)[0] == FAILED)

# Another user's sandbox: the client of another uid.
pid = os.fork()
if pid == 0:
    os.setgid(61235)
    os.setuid(61235)
    s = socket.socket(socket.AF_UNIX)
    s.connect(b.path)
    s.recv(1)
    os._exit(0)
f = b.recv([CLIENT])
other = f[2][0]
assert f[2][1] == 61235, f
for fd in f[3]:
    os.close(fd)
f = b.ask(CONNECT, [other, "sb_00000000000000aa"], CONNECTED, 62)
check("another owner's sandbox", f[0] == FAILED, f)
g = b.ask(CONNECT, [other, "sb_00000000000000fe"], CONNECTED, 63)
check("telling a foreign id from a random one",
      f[2][0] == g[2][0] and f[2][2].replace("aa", "") ==
      g[2][2].replace("fe", ""), (f, g))
f = b.ask(DESTROY, [other, "sb_00000000000000aa"], DESTROYED, 64)
f = b.ask(CONNECT, [handle, "sb_00000000000000aa"], CONNECTED, 65)
check("destroying another owner's sandbox", f[0] == CONNECTED, f)

# Nothing after the user left.
os.kill(pid, 9)
os.waitpid(pid, 0)
deadline = time.time() + 20
while time.time() < deadline:
    f = b.ask(CREATE, [other, "sb_00000000000000bb", SPEC], CREATED, 66)
    if f[0] == FAILED:
        break
    b.ask(DESTROY, [other, "sb_00000000000000bb"], DESTROYED, 67)
check("acting for a user who left", f[0] == FAILED, f)
# The sandbox connections issued for a handle end with it.
f = b.ask(CONNECT, [handle, "sb_00000000000000aa"], CONNECTED, 68)
assert f[0] == CONNECTED, f
conn = socket.socket(fileno=f[3][0])
conn.settimeout(20)
for fd in fds:
    os.close(fd)
c.close()
try:
    ended = conn.recv(1) == b""
except OSError:
    ended = False
check("a sandbox connection that outlives its user", ended)
b.end()

null = os.open("/dev/null", os.O_RDWR)
expect_end("a replayed policy", lambda b: b.send(POLICY, None, raw=b.policy()))
expect_end("an unknown message", lambda b: b.send(200, []))
expect_end("a worker's message", lambda b: b.send(33, [1]))
expect_end("a message of the other direction", lambda b: b.send(6, ["x", {}]))
expect_end("another version", lambda b: b.send(CHECK, [1, True], version=9))
expect_end("a field too many", lambda b: b.send(DROP, [1, 2]))
expect_end("a field too few", lambda b: b.send(CREATE, [1]))
expect_end("a field of another type", lambda b: b.send(DROP, ["x"]))
expect_end("trailing bytes", lambda b: b.send(DROP, None, raw=b"\x91\x01\x01"))
expect_end("descriptors that do not belong",
           lambda b: b.send(DROP, [1], fds=[null, null]))
expect_end("announced descriptors that are not there",
           lambda b: b.send(DROP, [1], nfds=1))
expect_end("a deep value", lambda b: b.send(
    CREATE, None, raw=b"\x93\x01\xb3sb_00000000000000cc" + b"\x91" * 5000))
sys.exit(bad)
