#!/bin/sh
# A terminal for a command: of the right size from the start, resized with
# ours, with job control; our own is raw meanwhile and itself afterwards,
# however it ends.
. "${srcdir:-.}/regress/sh/lib.sh"

need_msgpack
daemon_start
ctl create --name box >/dev/null

cat >"$tmp/term.py" <<'PY'
import fcntl, os, pty, select, signal, struct, sys, termios, time

class Term:
    def __init__(self, argv, rows=33, cols=101):
        self.master, slave = pty.openpty()
        self.size(rows, cols)
        self.before = termios.tcgetattr(self.master)
        self.out = b""
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(slave, fd)
            os.execvp(argv[0], argv)
        # Kept open, so that the settings can be seen at the end.
        self.slave = slave
    def size(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
            struct.pack("HHHH", rows, cols, 0, 0))
    def read(self, seconds):
        if select.select([self.master], [], [], seconds)[0]:
            self.out += os.read(self.master, 65536)
    def until(self, what):
        end = time.time() + 40
        while what not in self.out:
            assert time.time() < end, (what, self.out)
            self.read(0.5)
        self.out = self.out.split(what, 1)[1]
    def either(self, a, b):
        end = time.time() + 40
        while a not in self.out and b not in self.out:
            assert time.time() < end, self.out
            self.read(0.5)
    def send(self, data):
        os.write(self.master, data)
    def echo(self):
        return bool(termios.tcgetattr(self.master)[3] & termios.ECHO)
    def end(self):
        while True:
            pid, st = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            self.read(0.1)
        while select.select([self.master], [], [], 0)[0]:
            self.out += os.read(self.master, 65536)
        assert termios.tcgetattr(self.master) == self.before, "not restored"
        return os.waitstatus_to_exitcode(st)

ctl = sys.argv[1:]

# The size is there before the first instruction.
for i in range(20):
    t = Term(ctl + ["stty", "size"], 10 + i, 40 + i)
    assert t.end() == 0
    assert t.out == b"%d %d\r\n" % (10 + i, 40 + i), t.out

# Nothing of what a short command wrote is lost.
for i in range(20):
    t = Term(ctl + ["echo", "hi"])
    assert t.end() == 0
    assert t.out == b"hi\r\n", t.out

# A shell: resize, Ctrl-C, job control, the status.
t = Term(ctl + ["env", "PS1=% ", "sh", "-i"])
t.until(b"% ")
assert not t.echo()
t.send(b"tty; echo $TERM\n")
t.until(b"/dev/pts/")
t.until(b"% ")
t.size(44, 77)
# The news takes its own way.
while True:
    t.send(b"[ \"$(stty size)\" = '44 77' ] && echo y''es || echo n''o\n")
    t.either(b"yes\r\n", b"no\r\n")
    if b"yes\r\n" in t.out:
        break
    t.until(b"no\r\n% ")
t.until(b"% ")
t.send(b"sh -c 'echo g\"\"o; exec sleep 60'\n")
t.until(b"go\r\n")
t.send(b"\x03")
t.until(b"% ")
t.send(b"echo $?\n")
t.until(b"130\r\n% ")
t.send(b"sh -c 'echo g\"\"o; exec sleep 60'\n")
t.until(b"go\r\n")
t.send(b"\x1a")
t.until(b"Stopped")
t.until(b"% ")
# dash would wait for ever for it, and may still call it stopped.
t.send(b"kill -KILL %1\n")
t.until(b"% ")
t.send(b"exit 9\nexit 9\n")
status = t.end()
assert status == 9, (status, t.out)

# Killed by a signal: the terminal is itself again.
for sig in (signal.SIGTERM, signal.SIGHUP):
    t = Term(ctl + ["sh", "-c", "echo ready; exec sleep 60"])
    t.until(b"ready")
    os.kill(t.pid, sig)
    assert t.end() == 128 + sig, sig
PY
status 0 within 120 $python "$tmp/term.py" "$ctl" -s "$sock" run -t --
status 0 within 120 $python "$tmp/term.py" "$ctl" -s "$sock" exec -t box --

# Without a terminal of ours it still gets one, and only when asked.
matches "$(ctl run -t -- tty </dev/null)" '^/dev/pts/[0-9]+'
status 1 ctl run -- tty </dev/null >/dev/null
is "$(ctl run -- sh -c 'echo a; echo b' | od -An -c | tr -d ' ')" 'a\nb\n'
