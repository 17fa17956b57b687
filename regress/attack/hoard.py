# SPDX-License-Identifier: ISC
"""A client that makes its worker hoard: hoard.py SOCKET BROKER_PID KB.

Input that no command reads, attachments that fail halfway or are never read:
each ends in an error for this client, and the worker, which no memory limit
holds, stays small and keeps no descriptor.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(sys.argv[0]), '../sh'))
import rpc  # noqa: E402

path, broker, large_kb = sys.argv[1:4]
EXECS = 150
CHUNK = b'x' * 400000

control = rpc.Conn(path)
sandbox = control.call('sandbox.create', {'connect': True})['id']
conn = rpc.Conn(control.take_fd())


def workers():
    for pid in os.listdir('/proc'):
        try:
            with open('/proc/%s/stat' % pid) as f:
                stat = f.read()
        except OSError:
            continue
        name, rest = stat.rsplit(')', 1)
        if name.endswith('(sandboxd-worker') and rest.split()[1] == broker:
            yield pid


def descriptors():
    return sum(len(os.listdir('/proc/%s/fd' % p)) for p in workers())


def resident_kb():
    largest = 0
    for pid in workers():
        with open('/proc/%s/status' % pid) as f:
            for line in f:
                if line.startswith('VmRSS:'):
                    largest = max(largest, int(line.split()[1]))
    return largest


def works():
    number = conn.call('exec.start', {'argv': ['/bin/echo', 'fine'],
                                      'stdout': 'relay'})['exec']
    assert rpc.read_exec(conn, number, 'stdout') == b'fine\n'


# Attachments up to the bound, and beyond it.
cat = conn.call('exec.start', {'argv': ['/bin/cat'], 'stdin': 'relay',
                               'stdout': 'relay'})['exec']
held = []
both = {'exec': cat, 'streams': ['stdin', 'stdout']}
for i in range(2000):
    try:
        conn.call('exec.attach', both)
    except rpc.Fault as f:
        assert f['code'] == 'limit', f.error
        break
    held += [conn.take_fd(), conn.take_fd()]
else:
    raise AssertionError('attached without bound')
count = descriptors()
for i in range(50):
    assert rpc.fault(conn, 'exec.attach', both)['code'] == 'limit'
assert descriptors() <= count, (descriptors(), count)
works()
for fd in held[2:]:
    os.close(fd)
# Nobody ended the input: it is still to be written to.
conn.call('exec.write', {'exec': cat, 'data': b'still open\n'})
assert conn.call('exec.read', {'exec': cat, 'wait_ms': 10000})['data'] == \
    b'still open\n'

# Input that nobody reads.
others = []
idle = [conn.call('exec.start', {'argv': ['/bin/sleep', '1000'],
                                 'stdin': 'relay'})['exec']
        for i in range(EXECS)]
for number in idle:
    control.call('sandbox.connect', {'id': sandbox})
    other = rpc.Conn(control.take_fd())
    sent = [other.send('exec.write', {'exec': number, 'data': CHUNK})
            for i in range(4)]
    # Answers at once, all but those that wait, so this one comes last.
    last = other.send('exec.info', {'exec': number})
    other.answer(last)
    # Fewer than a sandbox may have connections.
    others = others[-40:] + [other]
    assert resident_kb() < int(large_kb), resident_kb()
works()
