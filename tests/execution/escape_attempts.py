"""Attempts to get out of a sandbox, each as a bash command and as Python.

They run inside, with the names of `escape_outside.Outside.names`. An attempt prints what it should
not know, prints `OK` when the kernel let it do something, or changes something outside.
"""

from dataclasses import dataclass

__all__ = ["ATTEMPTS", "Attempt"]


@dataclass(frozen=True, slots=True)
class Attempt:
    name: str
    python: str
    bash: str = ""
    """Where it is empty, the Python is run from bash."""
    shows: str = "OK"
    """What must not be in its output."""


def syscall(number: int, *arguments: str) -> str:
    return (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); c.syscall.restype = ctypes.c_long; "
        f"r = c.syscall({', '.join([str(number), *arguments])}); print(OK if r >= 0 else r)"
    )


_LIBC = "import ctypes; c = ctypes.CDLL(None, use_errno=True); "

# fmt: off
ATTEMPTS = (
    # -- files
    Attempt("read a file", "print(open(OUT + '/canary').read())", "cat $OUT/canary", "CANARY"),
    Attempt("read a file through a link", "print(open(WS + '/link').read())", "cat link", "CANARY"),
    Attempt("read a file through a linked directory", "print(open(WS + '/up/canary').read())", "cat up/canary", "CANARY"),
    Attempt("read a file by going up", "print(open(WS + '/../../../../../..' + OUT + '/canary').read())", "cat ./../../../../../..$OUT/canary", "CANARY"),
    Attempt("read a file by a hard link", "import os; os.link(OUT + '/canary', WS + '/hard'); print(open(WS + '/hard').read())", "ln $OUT/canary hard; cat hard", "CANARY"),
    Attempt("read a file through a process's root", "print(open(f'/proc/{PID}/root{OUT}/canary').read())", "cat /proc/$PID/root$OUT/canary", "CANARY"),
    Attempt("read a file through a process's directory", "print(open(f'/proc/{PID}/cwd/canary').read())", "cat /proc/$PID/cwd/canary", "CANARY"),
    Attempt("read a file that a process has open", "print(open(f'/proc/{PID}/fd/{FD}').read())", "cat /proc/$PID/fd/$FD", "CANARY"),
    Attempt("list a directory", "import os; print(os.listdir(OUT))", "ls $OUT", "LISTED"),
    Attempt("see whether a file exists, and its size", "import os; print(os.stat(OUT + '/canary').st_size)", "stat -c %s $OUT/canary", "SIZE"),
    Attempt("see who owns a file, and its mode", "import os; s = os.stat(OUT + '/owned'); print(f'{s.st_uid}:{s.st_mode & 0o777:o}')", "stat -c %u:%a $OUT/owned", "OWNER"),
    Attempt("see where a link leads", "import os; print(os.readlink(OUT + '/leading'))", "readlink $OUT/leading", "CANARY"),
    Attempt("watch a directory", _LIBC + "f = c.inotify_init1(0); print(OK if c.inotify_add_watch(f, OUT.encode(), 0xfff) >= 0 else 'no')"),
    Attempt("watch a directory by its descriptor", "import fcntl, os; fcntl.fcntl(os.open(OUT, os.O_RDONLY), fcntl.F_NOTIFY, 4); print(OK)"),
    Attempt("write a file", "open(OUT + '/written', 'w').write('x')", "echo x > $OUT/written"),
    Attempt("write a file through a link", "open(WS + '/up/linked', 'w').write('x')", "echo x > up/linked"),
    Attempt("append to a file", "open(OUT + '/appended', 'a').write('x')", "echo x >> $OUT/appended"),
    Attempt("truncate a file", "import os; os.truncate(OUT + '/truncated', 0)", "truncate -s 0 $OUT/truncated"),
    Attempt("delete a file", "import os; os.unlink(OUT + '/deleted')", "rm -f $OUT/deleted"),
    Attempt("rename a file", "import os; os.rename(OUT + '/renamed', OUT + '/renamed-away')", "mv $OUT/renamed $OUT/renamed-away"),
    Attempt("make a directory", "import os; os.mkdir(OUT + '/made')", "mkdir $OUT/made"),
    Attempt("make a link", "import os; os.symlink('/', OUT + '/pointing')", "ln -s / $OUT/pointing"),
    Attempt("change a file's mode", "import os; os.chmod(OUT + '/mode', 0o666)", "chmod 666 $OUT/mode"),
    Attempt("change a file's mode through a link", "import os; os.chmod(WS + '/up/linked-mode', 0o666)", "chmod 666 up/linked-mode"),
    Attempt("change a file's owner", "import os; os.chown(OUT + '/owner', 1, 1)", "chown 1:1 $OUT/owner"),
    Attempt("change a file's times", "import os; os.utime(OUT + '/times', (1, 1))", "touch -d 1970-01-01 $OUT/times"),
    Attempt("change a file's attributes", "import os; os.setxattr(OUT + '/attributes', 'user.k', b'new')"),
    Attempt("read a file's attributes", "import os; print(os.getxattr(OUT + '/attributes', 'user.canary'))", shows="CANARY"),
    Attempt("open a file by its handle", _LIBC + "h = (ctypes.c_uint * 40)(128); m = ctypes.c_int(); r = c.name_to_handle_at(-100, OUT.encode(), h, ctypes.byref(m), 0); print(OK if r == 0 else r)"),
    Attempt("make a device", "import os, stat; os.mknod(WS + '/device', 0o666 | stat.S_IFCHR, os.makedev(1, 5)); open(WS + '/device').close(); print(OK)", "mknod device c 1 5 && head -c 1 device > /dev/null && echo $OK"),
    Attempt("leave a set-user-id file", "import os; open(WS + '/setuid-1', 'w').close(); os.chmod(WS + '/setuid-1', 0o4755)", "touch setuid-1; chmod 4755 setuid-1"),
    Attempt("leave a set-user-id file from the start", "import os; os.umask(0); os.open(WS + '/setuid-2', os.O_CREAT | os.O_WRONLY, 0o4755)"),
    Attempt("leave a set-group-id file by a new call", _LIBC + "open(WS + '/setuid-3', 'w').close(); c.syscall(452, -100, (WS + '/setuid-3').encode(), 0o2755, 0)"),
    # -- processes
    Attempt("see a process", "print(open(f'/proc/{PID}/cmdline').read())", "cat /proc/$PID/cmdline; ps axww", "SENTINEL"),
    Attempt("see a process's session and priority", "import os; os.getsid(PID), os.getpriority(0, PID); print(OK)"),
    Attempt("see a process's capabilities", "import struct; " + _LIBC + "r = c.capget(struct.pack('=Ii', 0x20080522, PID), ctypes.create_string_buffer(24)); print(OK if r == 0 else r)"),
    Attempt("read a process's variables", "print(open(f'/proc/{PID}/environ').read())", "cat /proc/$PID/environ", "SECRET"),
    Attempt("read the program's own variables", "import os; print(dict(os.environ)); print(open(f'/proc/{HOST}/environ').read())", "env; cat /proc/$HOST/environ", "SECRET"),
    Attempt("read a process's memory", "open(f'/proc/{PID}/mem', 'rb').close(); print(OK)", "exec 5< /proc/$PID/mem && echo $OK"),
    Attempt("read a process's memory by a call", _LIBC + "b = ctypes.create_string_buffer(8); iov = (ctypes.c_void_p * 2)(ctypes.addressof(b), 8); far = (ctypes.c_void_p * 2)(ADDRESS, 8); r = c.process_vm_readv(PID, iov, 1, far, 1, 0); print(OK if r > 0 else r)"),
    Attempt("trace a process", _LIBC + "r = c.ptrace(0x4206, PID, 0, 0); c.ptrace(17, PID, 0, 0); print(OK if r == 0 else r)"),
    Attempt("take a descriptor of a process", "import os; " + _LIBC + "f = c.syscall(438, os.pidfd_open(PID), FD, 0); print(os.pread(f, 99, 0))", shows="CANARY"),
    Attempt("limit a process", "import resource; resource.prlimit(PID, resource.RLIMIT_NOFILE, (77, 77))", "prlimit --pid $PID --nofile=77:77"),
    Attempt("make a process nice", "import os; os.setpriority(os.PRIO_PROCESS, PID, 15)", "renice -n 15 -p $PID"),
    Attempt("pin a process to one core", "import os; os.sched_setaffinity(PID, {0})", "taskset -p 1 $PID"),
    Attempt("make a process idle at input and output", _LIBC + "r = c.syscall(251, 1, PID, 3 << 13); print(OK if r == 0 else r)", "ionice -c 3 -p $PID && echo $OK"),
    Attempt("kill a process", "import os; os.kill(VICTIM, 9)", "kill -9 $VICTIM"),
    Attempt("kill a process by its descriptor", "import os, signal; signal.pidfd_send_signal(os.pidfd_open(OTHER), 9)"),
    # -- between processes
    Attempt("read shared memory", _LIBC + "c.shmat.restype = ctypes.c_void_p; i = c.shmget(KEY, 64, 0); a = c.shmat(i, None, 0o10000); print(i >= 0 and ctypes.string_at(a, 40))", shows="CANARY"),
    Attempt("leave shared memory", _LIBC + "c.shmget(KEY + 1, 4096, 0o1666)"),
    Attempt("leave a message queue", _LIBC + "c.msgget(KEY + 1, 0o1666)"),
    Attempt("leave semaphores", _LIBC + "c.semget(KEY + 1, 1, 0o1666)"),
    Attempt("read POSIX shared memory", "print(open('/dev/shm/' + SHM).read())", "cat /dev/shm/$SHM", "CANARY"),
    Attempt("leave POSIX shared memory", "open('/dev/shm/' + SHM + '-left', 'w').write('x')", "echo x > /dev/shm/$SHM-left"),
    Attempt("leave a POSIX message queue", "import ctypes; c = ctypes.CDLL('librt.so.1'); c.mq_open(('/' + SHM).encode(), 0o102, 0o666, None)"),
    Attempt("use a keyring", syscall(248, "b'user'", "b'probe'", "b'x'", "1", "ctypes.c_int(-2)")),
    Attempt("see the names of the user's keys", "print(open('/proc/keys').read())", "cat /proc/keys", "KEY_NAME"),
    Attempt("connect to a unix socket outside", "import socket; socket.socket(socket.AF_UNIX).connect(OUT + '/socket')"),
    Attempt("connect to an abstract socket", "import socket; socket.socket(socket.AF_UNIX).connect('\\0' + SHM)"),
    # -- the network
    Attempt("connect over TCP", "import socket; socket.create_connection(('127.0.0.1', TCP), 2)", "echo x > /dev/tcp/127.0.0.1/$TCP; curl -sm 2 http://127.0.0.1:$TCP/"),
    Attempt("send over UDP", "import socket; socket.socket(2, 2).sendto(b'x', ('127.0.0.1', UDP))", "echo x > /dev/udp/127.0.0.1/$UDP"),
    Attempt("open a socket to the machine's own host", "import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close(); print(OK)"),
    Attempt("listen to all packets", "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3); s.bind((INTERFACE, 0)); print(OK)"),
    Attempt("see the network's interfaces", "import socket; print(socket.if_nameindex())", "cat /proc/net/dev; ls /sys/class/net", "INTERFACE"),
    Attempt("see the machine's name", "import os; print(os.uname().nodename)", "uname -n", "NAME"),
    # -- the kernel
    Attempt("mount a file system", _LIBC + "import os; os.makedirs(WS + '/m', exist_ok=True); print(OK if c.mount(b'none', (WS + '/m').encode(), b'tmpfs', 0, None) == 0 else 'no')", "mkdir -p m; mount -t tmpfs none m && echo $OK"),
    Attempt("make a user namespace", _LIBC + "print(OK if c.unshare(0x10000000) == 0 else 'no')", "unshare -U true && echo $OK"),
    Attempt("make a user namespace by fork", _LIBC + "import os; r = c.syscall(56, 0x10000011, 0, 0, 0, 0)\nif r == 0: os._exit(0)\nprint(OK if r > 0 else 'no')"),
    Attempt("enter a process's namespaces", _LIBC + "import os; print(OK if c.setns(os.open(f'/proc/{PID}/ns/net', os.O_RDONLY), 0) == 0 else 'no')", "nsenter -t $PID -n true && echo $OK"),
    Attempt("change the root directory", "import os; os.chroot(WS); print(OK)"),
    Attempt("go around filters by io_uring", syscall(425, "1", "ctypes.create_string_buffer(256)")),
    Attempt("go around filters by x32", "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); " + syscall(0x40000000 | 39).replace("OK if r >= 0 else r", "OK if r == os.getpid() else r")),
    Attempt("go around filters by 32-bit calls", "import ctypes, mmap, os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); m = mmap.mmap(-1, 4096, prot=7); m.write(bytes.fromhex('53b814000000cd805bc3')); f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m))); print(OK if f() == os.getpid() else 'no')"),
    Attempt("load a program into the kernel", syscall(321, "0", "(ctypes.c_uint * 32)(2, 4, 4, 1)", "128")),
    Attempt("watch the processor's counters", syscall(298, "(ctypes.c_uint * 32)(1, 112, 0, 0)", "0", "-1", "-1", "0")),
    Attempt("handle page faults", syscall(323, "1")),
    Attempt("read the kernel's log", syscall(103, "3", "ctypes.create_string_buffer(64)", "64"), "dmesg | head -1 | grep -q . && echo $OK"),
    # Opened and not written to; without a sandbox, it is the machine's.
    Attempt("open a setting of the kernel to write", "import os; os.close(os.open('/proc/sys/kernel/hostname', os.O_WRONLY)); print(OK)", "exec 5>> /proc/sys/kernel/hostname && echo $OK"),
    Attempt("read the kernel's tables", "print(OK if any(open('/proc/' + n, 'rb').read(8) for n in ('slabinfo', 'vmallocinfo')) else 'no')", "grep -q . /proc/slabinfo /proc/vmallocinfo && echo $OK"),
)
# fmt: on
