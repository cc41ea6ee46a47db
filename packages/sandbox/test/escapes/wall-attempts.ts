import { ALL, type Attempt, python, syscall, WRITE } from "./attempt.js";

/** Attempts on the parts of the wall: namespaces, mounts, identity, devices, signals, and the places that the set-up used. */

const libc = (code: string): string =>
  python(`import ctypes,os,platform;c=ctypes.CDLL(None,use_errno=True);arm=platform.machine()=='aarch64';${code}`);

const namespaces: readonly Attempt[] = [
  {
    name: "every namespace is its own",
    command:
      "for n in mnt pid ipc uts user net cgroup; do case ' {NAMESPACES} ' in *\" $(readlink /proc/self/ns/$n) \"*) echo ESCAPED $n;; esac; done",
    core: true,
  },
  {
    name: "every namespace but the network is its own",
    modes: ["workspace-write-network"],
    command:
      "for n in mnt pid ipc uts user cgroup; do case ' {NAMESPACES} ' in *\" $(readlink /proc/self/ns/$n) \"*) echo ESCAPED $n;; esac; done",
  },
  { name: "unshare everything at once", command: syscall("(272,97)", "0x7e020000"), core: true },
  { name: "unshare the user namespace", command: syscall("(272,97)", "0x10000000") },
  { name: "unshare the clock", command: syscall("(272,97)", "0x80") },
  ...["mnt", "user", "pid", "net"].map((name) => ({
    name: `join the ${name} namespace of the first process`,
    command: libc(
      `f=os.open('/proc/1/ns/${name}',0);print('ESCAPED' if c.syscall(268 if arm else 308,f,0)==0 else 'refused')`,
    ),
  })),
  {
    name: "join namespaces by a handle on a process",
    command: libc(
      "f=c.syscall(434,1,0);print('ESCAPED' if c.syscall(268 if arm else 308,f,0x10020000)==0 else 'refused')",
    ),
  },
  {
    name: "enter the first process with its credentials",
    command: "nsenter --preserve-credentials -U -m -t 1 true && echo ESCAPED; nsenter -a -t 1 true && echo ESCAPED",
  },
  {
    name: "own identity map",
    command:
      "for f in uid_map gid_map; do echo '0 0 1' > /proc/self/$f && echo ESCAPED; done; echo allow > /proc/self/setgroups && echo ESCAPED",
    core: true,
  },
  {
    name: "identity maps by the set-user-id programs",
    command: "newuidmap $$ 0 0 1 && echo ESCAPED; newgidmap $$ 0 0 1 && echo ESCAPED",
  },
  {
    name: "limit of user namespaces raised",
    command: "true >> /proc/sys/user/max_user_namespaces && echo ESCAPED",
    core: true,
  },
];

const mounts: readonly Attempt[] = [
  {
    name: "every mount made writable again",
    command:
      "cut -d' ' -f5 /proc/self/mountinfo | while read -r m; do mount -o remount,bind,rw \"$m\" && echo ESCAPED; done; echo x > {OUT}/new",
    core: true,
  },
  {
    name: "every mount taken away",
    command:
      "cut -d' ' -f5 /proc/self/mountinfo | sort -r | while read -r m; do umount -l \"$m\" && echo ESCAPED; done; cat {HOME}/.ssh/id_rsa",
    core: true,
  },
  { name: "mount moved", command: "mount --move /tmp /mnt && echo ESCAPED" },
  { name: "mount made shared", command: "mount --make-rshared / && echo ESCAPED" },
  { name: "root bound elsewhere", command: "mkdir /tmp/r && mount --rbind / /tmp/r && echo ESCAPED" },
  { name: "process list mounted", command: "mkdir /tmp/p && mount -t proc p /tmp/p && echo ESCAPED" },
  { name: "terminals mounted", command: "mkdir /tmp/p && mount -t devpts p /tmp/p && echo ESCAPED" },
  {
    name: "overlay on the outside",
    command:
      "mkdir /tmp/u /tmp/w && mount -t overlay o -o lowerdir={OUT},upperdir=/tmp/u,workdir=/tmp/w {OUT} && echo ESCAPED",
  },
  {
    name: "mount by the set-user-id program of fuse",
    command: "fusermount3 -u /tmp && echo ESCAPED; fusermount -u /tmp && echo ESCAPED",
  },
  { name: "pivot_root by its program", command: "mkdir /tmp/n && pivot_root / /tmp/n && echo ESCAPED" },
  { name: "raw chroot", command: syscall("(161,51)", "b'/'"), core: true },
  { name: "move_mount", command: syscall("(429,429)", "-100", "b'/tmp'", "-100", "b'/mnt'", "0") },
  { name: "fspick", command: syscall("(433,433)", "-100", "b'/'", "0") },
  { name: "raw umount", command: syscall("(166,39)", "b'/tmp'", "2") },
  { name: "raw remount", command: syscall("(165,40)", "None", "b'/'", "None", "0x1020", "None") },
  {
    name: "the place where everything was prepared",
    command:
      "ls -d /sys/empty /sys/scratch* /sys/*directory* /sys/fresh /sys/binds /oldroot /newroot 2>/dev/null && echo ESCAPED; grep -q ' /sys [^-]*- tmpfs' /proc/self/mountinfo && echo ESCAPED",
    core: true,
  },
  {
    name: "no writable mount but those of the mode",
    modes: ["read-only"],
    command:
      "touch {OUT}/new {WS}/new {WS}/.git/new && echo ESCAPED; for d in / /usr /etc /var /sys /boot /opt /home /root /srv /mnt; do test -w $d && echo ESCAPED; done",
    creates: "{WS}/new",
    core: true,
  },
  ...["/tmp", "/var/tmp", "/dev/shm", "/run"].map((place) => ({
    name: `a file in ${place} stays inside`,
    command: `echo x > ${place}/escape-{TOKEN}`,
    creates: `${place}/escape-{TOKEN}`,
  })),
  {
    name: "what others keep in the scratch directories",
    modes: ALL,
    command: "ls -A /tmp /var/tmp /dev/shm /run | grep -F '{TOKEN}' && echo ESCAPED",
    core: true,
  },
];

const writes: readonly Attempt[] = [
  { name: "a directory handle outside", command: "exec 7<{OUT}; echo x > /proc/self/fd/7/new" },
  {
    name: "a handle that only names",
    command: python(
      "import os;f=os.open('{OUT}/canary',os.O_PATH);os.open('/proc/self/fd/%d'%f,os.O_RDWR);print('ESCAPED')",
    ),
  },
  {
    name: "steps up from a handle of the workspace",
    modes: WRITE,
    command: python(
      "import os;f=os.open('{WS}',os.O_RDONLY);os.open('../out/new',os.O_CREAT|os.O_WRONLY,dir_fd=f);print('ESCAPED')",
    ),
  },
  {
    name: "nameless file outside",
    command: python("import os;os.open('{OUT}',os.O_TMPFILE|os.O_RDWR);print('ESCAPED')"),
  },
  {
    name: "file in memory linked to a name outside",
    command: libc(
      "f=os.memfd_create('x');print('ESCAPED' if c.linkat(-100,b'/proc/self/fd/%d'%f,-100,b'{OUT}/new',0x400)==0 else 'refused')",
    ),
  },
  {
    name: "other processes' view of the root",
    command: "for p in /proc/[0-9]*; do echo x > $p/root{OUT}/new; echo x > $p/cwd/../out/new; done",
  },
  { name: "threads' view of the root", command: "for t in /proc/self/task/*; do echo x > $t/root{OUT}/new; done" },
  { name: "truncate by name", command: "truncate -s 0 {OUT}/canary" },
  { name: "allocate by name", command: "fallocate -l 4096 {OUT}/canary" },
  {
    name: "times by handle",
    command: python("import os;f=os.open('{OUT}/canary',0);os.utime(f,(1,1));print('ESCAPED')"),
  },
  {
    name: "mode and owner by handle",
    command: python("import os;f=os.open('{OUT}/canary',0);os.fchmod(f,0o777);print('ESCAPED')"),
  },
  { name: "flags of a file", command: "chattr +i {OUT}/canary && echo ESCAPED" },
  {
    name: "copy between handles",
    command: python(
      "import os;a=os.open('{OUT}/canary',0);b=os.open('{OUT}/canary',os.O_WRONLY);os.copy_file_range(a,b,1);print('ESCAPED')",
    ),
  },
  {
    name: "a socket name outside",
    command: python("import socket;s=socket.socket(1);s.bind('{OUT}/s');print('ESCAPED')"),
  },
  { name: "a pipe name outside", command: "mkfifo {OUT}/fifo && echo ESCAPED" },
];

const protectedPlaces: readonly Attempt[] = [
  {
    name: "git directory exchanged",
    modes: WRITE,
    command: libc(
      "os.makedirs('{WS}/e/hooks');print('ESCAPED' if c.renameat2(-100,b'{WS}/e',-100,b'{WS}/.git',2)==0 else 'refused');os.removedirs('{WS}/e/hooks')",
    ),
    core: true,
  },
  {
    name: "hooks exchanged",
    modes: WRITE,
    command: libc(
      "os.makedirs('{WS}/e');print('ESCAPED' if c.renameat2(-100,b'{WS}/e',-100,b'{WS}/.git/hooks',2)==0 else 'refused');os.rmdir('{WS}/e')",
    ),
  },
  {
    name: "git configuration by a second name",
    modes: WRITE,
    command: "ln {WS}/.git/config {WS}/c && echo x >> {WS}/c && echo ESCAPED",
    core: true,
  },
  {
    name: "git configuration replaced",
    modes: WRITE,
    command: "echo x > {WS}/c; mv -f {WS}/c {WS}/.git/config && echo ESCAPED; rm -f {WS}/c",
  },
  {
    name: "hooks by a link from elsewhere",
    modes: WRITE,
    command: "ln -sfn .git/hooks {WS}/h; echo x > {WS}/h/new; rm {WS}/h",
    creates: "{WS}/.git/hooks/new",
  },
  {
    name: "hooks by another view of the root",
    modes: WRITE,
    command: "echo x > /proc/self/root{WS}/.git/hooks/new; cd {WS}/.git && echo x > /proc/self/cwd/hooks/new",
    creates: "{WS}/.git/hooks/new",
  },
  {
    name: "protected directory opened by its mode",
    modes: WRITE,
    command: "chmod 777 {WS}/.codex; echo x > {WS}/.codex/config.toml",
    creates: "{WS}/.codex/config.toml",
  },
  {
    name: "protected directory swapped in a race",
    modes: WRITE,
    command:
      "(for i in $(seq 200); do mv -T {WS}/.codex {WS}/x; mkdir {WS}/.codex; mv -T {WS}/x {WS}/.codex; done) 2>/dev/null & for i in $(seq 200); do echo x > {WS}/.codex/config.toml; done 2>/dev/null; wait",
    creates: "{WS}/.codex/config.toml",
  },
  {
    name: "link swapped in a race",
    modes: WRITE,
    command:
      "(for i in $(seq 200); do ln -sfn {OUT} {WS}/l; ln -sfn {WS}/src {WS}/l; done) & for i in $(seq 200); do echo x > {WS}/l/new; done 2>/dev/null; wait; rm -f {WS}/l {WS}/src/new",
    core: true,
  },
  {
    name: "hidden directory by every name it could have",
    modes: ALL,
    command:
      "for p in / /proc/1/root /proc/self/root /proc/self/cwd/../..; do cat $p{HOME}/.ssh/id_rsa $p/{HOME}/.netrc; done; cat {HOME}/.ssh/../.ssh/id_rsa; grep -rs secret- {HOME}",
    core: true,
  },
  {
    name: "hidden file as its device",
    modes: ALL,
    command: "cat {HOME}/.netrc | grep . && echo ESCAPED; ls -A {HOME}/.ssh | grep . && echo ESCAPED",
  },
  { name: "hidden directory filled", modes: ALL, command: "echo x > {HOME}/.ssh/authorized_keys" },
];

const identity: readonly Attempt[] = [
  {
    name: "become another user",
    command: python("import os;os.setuid(1 if os.getuid()==0 else 0);print('ESCAPED')"),
    core: true,
  },
  { name: "become another group", command: python("import os;os.setgid(1 if os.getgid()==0 else 0);print('ESCAPED')") },
  { name: "take more groups", command: python("import os;os.setgroups([0,1,2]);print('ESCAPED')") },
  {
    name: "raise capabilities",
    command: libc(
      "h=(ctypes.c_uint32*2)(0x20080522,0);d=(ctypes.c_uint32*6)(*[0xffffffff]*6);print('ESCAPED' if c.capset(h,d)==0 else 'refused')",
    ),
    core: true,
  },
  { name: "raise ambient capabilities", command: syscall("(157,167)", "47", "2", "21", "0", "0") },
  { name: "allow new privileges again", command: syscall("(157,167)", "38", "0", "0", "0", "0") },
  { name: "keep capabilities", command: syscall("(157,167)", "28", "1", "0", "0", "0") },
  { name: "take off the filter", command: syscall("(157,167)", "22", "0", "0", "0", "0"), core: true },
  {
    name: "a set-user-id shell that lies outside",
    command:
      "{OUT}/shell-of-root -p -c 'test $(id -u) = 0 && grep -q CapEff.*[1-9a-f] /proc/self/status && echo ESCAPED'",
  },
  {
    name: "capabilities of a file",
    modes: WRITE,
    command: python(
      "import os;open('{WS}/cap','w');os.setxattr('{WS}/cap','security.capability',bytes.fromhex('0100000200000020000000000000000000000000'));print('ESCAPED')",
    ),
  },
  {
    name: "set-user-id programs of the system",
    command:
      "passwd -d nobody </dev/null && echo ESCAPED; pkexec true && echo ESCAPED; chsh -s /bin/sh root && echo ESCAPED",
  },
];

const processes: readonly Attempt[] = [
  { name: "seize the first process", command: syscall("(101,117)", "0x4206", "1", "0", "0") },
  { name: "write the memory of the first process", command: "printf x > /proc/1/mem && echo ESCAPED" },
  {
    name: "descriptors of the first process",
    command: "for f in /proc/1/fd/*; do readlink $f; done | grep -F '{HOME}' && echo ESCAPED",
  },
  {
    name: "a handle on the server",
    command: libc("print('ESCAPED' if c.syscall(434,{PID},0)>=0 else 'refused')"),
    core: true,
  },
  {
    name: "slow the server down",
    command: "renice -n 19 -p {PID} && echo ESCAPED; ionice -c3 -p {PID} && echo ESCAPED",
  },
  { name: "limits of the server", command: "prlimit --pid {PID} && echo ESCAPED; taskset -p 1 {PID} && echo ESCAPED" },
  {
    name: "the server's end by the killer of memory",
    command: "true >> /proc/{PID}/oom_score_adj && echo ESCAPED",
  },
  {
    name: "signals to the own group",
    command: "(trap '' TERM HUP USR1; kill -HUP 0; kill -USR1 0; kill -TERM 0); true",
  },
  { name: "signals to the server's group", command: "kill -KILL -- -{PID} && echo ESCAPED" },
  { name: "the first process cannot be ended from inside", command: "kill -KILL 1; kill -STOP 1; sleep 0.1; true" },
  {
    name: "everything killed but a child in a session of its own",
    command: "setsid sh -c 'sleep 76.8{PID}' >/dev/null 2>&1 & kill -KILL $PPID; kill -KILL 0",
    leaves: "sleep 76.8{PID}",
    core: true,
  },
  {
    name: "priority",
    command: "nice -n -5 true 2>&1 | grep -q 'cannot set' || echo ESCAPED; chrt -f 50 true && echo ESCAPED",
  },
  { name: "hard limits", command: "h=$(ulimit -Hn); test $h = unlimited || { ulimit -Hn $((h+1)) && echo ESCAPED; }" },
  { name: "fanotify", command: syscall("(300,262)", "0", "0") },
];

const devices: readonly Attempt[] = [
  {
    name: "devices nobody needs",
    command:
      "for d in mem kmem port kmsg fuse net/tun kvm loop-control vhost-net vsock uinput input sda vda nvme0n1 mapper mqueue; do test -e /dev/$d && echo ESCAPED $d; done",
    core: true,
  },
  { name: "other people's terminals", command: "ls /dev/pts | grep -v ptmx && echo ESCAPED" },
  { name: "a device that lies on the disk outside", command: "head -c1 {OUT}/zero-device && echo ESCAPED", core: true },
  { name: "a device made in the workspace", modes: WRITE, command: "mknod {WS}/null c 1 3 && echo ESCAPED" },
  { name: "a device made where devices are", command: "mknod /dev/disk b 254 0 && echo ESCAPED" },
  {
    name: "typing with extra bits",
    command: libc(
      "import pty;m,s=pty.openpty();print('ESCAPED' if c.syscall(29 if arm else 16,s,ctypes.c_ulong(0x100005412),b'x')==0 else 'refused')",
    ),
  },
];

const sockets: readonly Attempt[] = [
  {
    name: "every family of sockets",
    modes: ALL,
    command: python(
      "import socket\\nfor f in list(range(1,2))+list(range(3,10))+list(range(11,47)):\\n for t in (1,2,3,5):\\n  try: socket.socket(f,t); print('ESCAPED',f,t)\\n  except OSError: pass".replaceAll(
        "\\n",
        "\n",
      ),
    ),
    core: true,
  },
  {
    name: "raw pair",
    modes: ALL,
    command: python("import socket;a,b=socket.socketpair(1,3);a.connect('{SOCK}');print('ESCAPED')"),
  },
  {
    name: "message to a name through a pair",
    modes: ALL,
    command: python("import socket;a,b=socket.socketpair(1,5);a.sendto(b'x','{SOCK}');print('sent to the pair')"),
  },
  {
    name: "sockets of the host in sight",
    command: "grep -F '{SOCK}' /proc/net/unix && echo ESCAPED; grep -F '{ABS}' /proc/net/unix && echo ESCAPED",
  },
  {
    name: "name server",
    command: python("import socket;socket.socket(2,2).sendto(b'x',('192.0.2.1',53));print('ESCAPED')"),
  },
  { name: "only the loopback device", command: "test $(grep -c : /proc/net/dev) -gt 1 && echo ESCAPED", core: true },
  {
    name: "kernel settings of the network",
    modes: ALL,
    command: "true >> /proc/sys/net/ipv4/ip_forward && echo ESCAPED",
  },
];

const kernel: readonly Attempt[] = [
  {
    name: "register a format",
    command: "true >> /proc/sys/fs/binfmt_misc/register && echo ESCAPED",
  },
  {
    name: "helper of control groups",
    command:
      "for f in /sys/fs/cgroup/*/release_agent /sys/fs/cgroup/release_agent; do true >> $f && echo ESCAPED; done",
  },
  {
    name: "leave the control group",
    command: "for f in $(find /sys/fs/cgroup -maxdepth 3 -name cgroup.procs); do true >> $f && echo ESCAPED; done",
  },
  {
    name: "core dumps by another view",
    command: "true >> /proc/1/root/proc/sys/kernel/core_pattern && echo ESCAPED",
  },
  { name: "accounting", command: syscall("(163,89)", "b'{WS}/src/a.txt'") },
  { name: "swap", command: syscall("(167,224)", "b'{WS}/src/a.txt'", "0") },
  { name: "unload a module", command: syscall("(176,106)", "b'x'", "0") },
  { name: "boot another kernel", command: syscall("(246,104)", "0", "0", "0", "0") },
  { name: "forbid the keys of the console", command: syscall("(169,142)", "0xfee1dead", "672274793", "0", "0") },
  { name: "set the time of day", command: syscall("(164,170)", "0", "0") },
  { name: "adjust the clock", command: syscall("(305,266)", "0", "0") },
  { name: "request a key", command: syscall("(249,218)", "b'user'", "b'x'", "0", "-3") },
  { name: "name of the domain", command: syscall("(171,162)", "b'x'", "1") },
  { name: "advice to another process", command: syscall("(440,440)", "3", "0", "0", "0", "0") },
];

export const WALL_ATTEMPTS: readonly Attempt[] = [
  ...namespaces,
  ...mounts,
  ...writes,
  ...protectedPlaces,
  ...identity,
  ...processes,
  ...devices,
  ...sockets,
  ...kernel,
];
