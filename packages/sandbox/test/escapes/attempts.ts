import type { SandboxMode } from "../../src/index.js";
import { ALL, type Attempt, NETWORK, python, syscall, WRITE } from "./attempt.js";
import { WALL_ATTEMPTS } from "./wall-attempts.js";

const files: readonly Attempt[] = [
  { name: "append outside", command: "echo x >> {OUT}/canary", core: true },
  { name: "truncate outside", command: ": > {OUT}/canary" },
  { name: "new directory outside", command: "mkdir {OUT}/d", core: true },
  { name: "remove outside", command: "rm -f {OUT}/canary" },
  { name: "rename outside", command: "mv {OUT}/canary {OUT}/moved" },
  { name: "change mode outside", command: "chmod 600 {OUT}/canary" },
  { name: "change owner outside", command: "chown 1:1 {OUT}/canary" },
  { name: "touch outside", command: "touch -d 2001-01-01 {OUT}/canary" },
  {
    name: "extended attribute outside",
    command: python("import os;os.setxattr('{OUT}/canary','user.x',b'1');print('ESCAPED')"),
  },
  {
    name: "hard link in, then write",
    modes: WRITE,
    command: "ln {OUT}/canary {WS}/hard && echo x > {WS}/hard",
    core: true,
  },
  {
    name: "symbolic link in, then write",
    modes: WRITE,
    command: "ln -sf {OUT}/canary {WS}/soft; echo x > {WS}/soft",
    core: true,
  },
  { name: "symbolic link to a directory", modes: WRITE, command: "ln -sfn {OUT} {WS}/dir; echo x > {WS}/dir/new" },
  { name: "parent steps", modes: WRITE, command: "cd {WS}/src && echo x > ../../out/new" },
  { name: "root alias in procfs", command: "echo x > /proc/self/root{OUT}/new", core: true },
  { name: "working directory alias in procfs", command: "cd {OUT} && echo x > /proc/self/cwd/new" },
  { name: "init's root", command: "echo x > /proc/1/root{OUT}/new" },
  { name: "reopen a read-only descriptor", command: "exec 5<{OUT}/canary; echo x > /proc/self/fd/5" },
  {
    name: "writable mapping",
    command: python("import mmap,os;f=os.open('{OUT}/canary',os.O_RDWR);mmap.mmap(f,1)[0]=88"),
  },
  { name: "direct copy", command: "dd if=/dev/zero of={OUT}/canary bs=1 count=1 conv=notrunc" },
  { name: "unpack outside", modes: WRITE, command: "tar cf {WS}/a.tar -C {WS} src && tar xf {WS}/a.tar -C {OUT}" },
  {
    name: "workspace in read-only mode",
    modes: ["read-only"],
    command: "echo x > {WS}/new",
    creates: "{WS}/new",
    core: true,
  },
  { name: "workspace file in read-only mode", modes: ["read-only"], command: "rm -rf {WS}/src && echo ESCAPED" },
  {
    name: "system directory",
    command: "test -w /etc && echo ESCAPED; test -w /usr && echo ESCAPED",
  },
  { name: "home start-up file", command: "echo x >> {HOME}/.bashrc; echo x >> ~/.profile" },
  { name: "scheduled job", command: "for d in /etc /etc/cron.d /etc/cron.daily; do test -w $d && echo ESCAPED; done" },
  {
    name: "preload list",
    command: "for f in /etc /etc/ld.so.preload /etc/ld.so.cache; do test -w $f && echo ESCAPED; done",
  },
];

const setId: readonly Attempt[] = [
  {
    name: "set-user-id by chmod",
    modes: WRITE,
    command: "cp /bin/sh {WS}/s; chmod 4755 {WS}/s && echo ESCAPED",
    core: true,
  },
  { name: "set-group-id by chmod", modes: WRITE, command: "cp /bin/sh {WS}/s; chmod g+s {WS}/s && echo ESCAPED" },
  {
    name: "set-user-id at creation",
    modes: WRITE,
    command: python("import os;os.umask(0);os.open('{WS}/c',os.O_CREAT|os.O_WRONLY,0o4777);print('ESCAPED')"),
    core: true,
  },
  {
    name: "set-user-id by mknod",
    modes: WRITE,
    command: python("import os,stat;os.mknod('{WS}/m',stat.S_IFREG|0o4777);print('ESCAPED')"),
  },
  {
    name: "set-user-id by descriptor",
    modes: WRITE,
    command: python("import os;f=os.open('{WS}/f',66);os.fchmod(f,0o4755);print('ESCAPED')"),
  },
  { name: "run a set-user-id program", command: "su -c 'echo ESCAPED' </dev/null; sudo -n echo ESCAPED" },
];

const mounts: readonly Attempt[] = [
  { name: "remount the root", command: "mount -o remount,bind,rw / && echo ESCAPED; echo x > {OUT}/new", core: true },
  { name: "remount outside", command: "mount -o remount,rw {OUT} && echo ESCAPED" },
  { name: "mount a tmpfs", command: "mount -t tmpfs none {WS} && echo ESCAPED" },
  {
    name: "unmount a mask",
    command: "umount -l /tmp && echo ESCAPED; umount -l {HOME}/.ssh; cat {HOME}/.ssh/id_rsa",
    core: true,
  },
  {
    name: "unmount a protection",
    modes: WRITE,
    command: "umount -l {WS}/.git/hooks; echo x > {WS}/.git/hooks/new",
    creates: "{WS}/.git/hooks/new",
  },
  {
    name: "own user namespace",
    command: "unshare -Urm sh -c 'mount -o remount,bind,rw /; echo x > {OUT}/new; echo ESCAPED'",
    core: true,
  },
  { name: "own mount namespace", command: "unshare -m true && echo ESCAPED" },
  { name: "own network namespace", command: "unshare -n true && echo ESCAPED" },
  { name: "a sandbox in the sandbox", command: "bwrap --bind / / sh -c 'echo x > {OUT}/new' && echo ESCAPED" },
  { name: "join init's namespaces", command: "nsenter -t 1 -m -p true && echo ESCAPED" },
  { name: "change the root", command: "chroot / true && echo ESCAPED" },
  { name: "raw clone with a user namespace", command: syscall("(56,220)", "0x10000011", "0", "0", "0", "0") },
  { name: "clone3", command: syscall("(435,435)", "0", "88") },
  { name: "open_tree", command: syscall("(428,428)", "-100", "b'/'", "1"), core: true },
  { name: "fsopen", command: syscall("(430,430)", "b'tmpfs'", "0") },
  {
    name: "mount_setattr",
    command: syscall("(442,442)", "-100", "b'/'", "0x8000", "ctypes.create_string_buffer(32)", "32"),
  },
  { name: "pivot_root", command: syscall("(155,41)", "b'.'", "b'.'") },
  { name: "block device node", command: "mknod /tmp/disk b 254 0 && head -c1 /tmp/disk && echo ESCAPED" },
  { name: "memory device node", command: "mknod /tmp/mem c 1 1 && head -c1 /tmp/mem && echo ESCAPED" },
  {
    name: "raw disks",
    command: "for d in /dev/sda /dev/vda /dev/nvme0n1 /dev/loop0; do head -c1 $d 2>/dev/null && echo ESCAPED; done",
  },
  { name: "file handle", command: syscall("(304,265)", "-100", "ctypes.create_string_buffer(64)", "0") },
];

const processes: readonly Attempt[] = [
  { name: "environment of the server", command: "cat /proc/{PID}/environ", core: true },
  { name: "environment of init", command: "cat /proc/1/environ | tr '\\0' '\\n'", core: true },
  { name: "environment of every process", command: "cat /proc/*/environ | tr '\\0' '\\n'" },
  { name: "own environment", command: "env; set; export -p", core: true },
  { name: "environment by jq and node", command: "node -p 'process.env'" },
  { name: "signal the server", command: "kill -0 {PID} && echo ESCAPED", core: true },
  { name: "signal everything", command: "(trap '' TERM; kill -TERM -1); true" },
  { name: "see foreign processes", command: "test $(ls -d /proc/[0-9]* | wc -l) -gt 30 && echo ESCAPED; true" },
  {
    name: "command line of the server",
    command: "tr '\\0' ' ' < /proc/{PID}/cmdline | grep -q vitest && echo ESCAPED",
  },
  { name: "memory of init", command: "head -c1 /proc/1/mem && echo ESCAPED" },
  { name: "ptrace", command: syscall("(101,117)", "16", "1", "0", "0"), core: true },
  { name: "trace own child", command: syscall("(101,117)", "0", "0", "0", "0") },
  { name: "process_vm_readv", command: syscall("(310,270)", "1", "0", "0", "0", "0", "0") },
  { name: "steal a descriptor", command: syscall("(438,438)", "3", "0", "0") },
  { name: "compare processes", command: syscall("(312,272)", "1", "2", "0", "0", "0") },
  {
    name: "inherited descriptors",
    command:
      "ls -l /proc/self/fd | grep -F '{HOME}' && echo ESCAPED; ls -l /proc/self/fd | grep -F seccomp- && echo ESCAPED",
  },
  {
    name: "orphan in a new session",
    command: "(setsid sleep 71.3{PID} >/dev/null 2>&1 &); exit 0",
    leaves: "sleep 71.3{PID}",
    core: true,
  },
  {
    name: "orphan by double fork",
    command: python(
      "import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  os.execvp('sleep',['sleep','72.4{PID}'])\n os._exit(0)",
    ),
    leaves: "sleep 72.4{PID}",
  },
  {
    name: "orphan ignoring signals",
    command: "nohup sh -c 'trap \"\" TERM HUP INT; exec sleep 73.5{PID}' >/dev/null 2>&1 & disown",
    leaves: "sleep 73.5{PID}",
  },
  {
    name: "typed into the terminal",
    command: python("import fcntl,termios;fcntl.ioctl(0,termios.TIOCSTI,b'x');print('ESCAPED')"),
  },
  {
    name: "typed into the controlling terminal",
    command: python("import fcntl,termios;fcntl.ioctl(open('/dev/tty'),termios.TIOCSTI,b'x');print('ESCAPED')"),
  },
  {
    name: "own pseudo-terminal injection",
    command: python("import pty,fcntl,termios;m,s=pty.openpty();fcntl.ioctl(s,termios.TIOCSTI,b'x');print('ESCAPED')"),
    core: true,
  },
  { name: "standard input is empty", command: "read line && echo ESCAPED; true" },
];

const sockets: readonly Attempt[] = [
  { name: "loopback by tcp", command: "exec 3<>/dev/tcp/127.0.0.1/{PORT} && echo ESCAPED", core: true },
  { name: "loopback by curl", command: "curl -s -m2 http://127.0.0.1:{PORT}/" },
  { name: "loopback by udp", command: "echo x > /dev/udp/127.0.0.1/{UPORT}" },
  {
    name: "loopback by node",
    command:
      "node -e \"require('net').connect({PORT},'127.0.0.1').on('connect',()=>console.log('ESCAPED')).on('error',()=>{})\"",
  },
  {
    name: "every loopback alias",
    command: "for h in 0.0.0.0 localhost 127.1 ::1; do curl -s -m1 http://$h:{PORT}/; done",
  },
  { name: "names resolve", command: "getent ahosts example.com && echo ESCAPED" },
  { name: "metadata address", command: "curl -s -m2 http://169.254.169.254/ && echo ESCAPED" },
  {
    name: "raw socket",
    modes: ALL,
    command: python("import socket;socket.socket(socket.AF_INET,socket.SOCK_RAW,1);print('ESCAPED')"),
  },
  { name: "packet socket", modes: ALL, command: python("import socket;socket.socket(17,3,0);print('ESCAPED')") },
  {
    name: "netlink",
    modes: ALL,
    command: python("import socket;socket.socket(socket.AF_NETLINK,3,0);print('ESCAPED')"),
    core: true,
  },
  { name: "kernel crypto socket", modes: ALL, command: python("import socket;socket.socket(38,5,0);print('ESCAPED')") },
  {
    name: "virtual machine socket",
    modes: ALL,
    command: python("import socket;socket.socket(40,1,0);print('ESCAPED')"),
  },
  {
    name: "path socket",
    modes: ALL,
    command: python("import socket;s=socket.socket(1);s.connect('{SOCK}');s.send(b'x')"),
    core: true,
  },
  {
    name: "path socket in the workspace",
    modes: ALL,
    command: python("import socket;s=socket.socket(1);s.connect('{WSSOCK}')"),
  },
  {
    name: "abstract socket",
    modes: ALL,
    command: python("import socket;s=socket.socket(1);s.connect('\\\\0{ABS}')"),
    core: true,
  },
  {
    name: "re-aimed datagram pair",
    modes: ALL,
    command: python("import socket;a,b=socket.socketpair(1,2);a.connect('{SOCK}');print('ESCAPED')"),
    core: true,
  },
  {
    name: "re-aimed datagram pair, extra type bits",
    modes: NETWORK,
    command: python("import socket;a,b=socket.socketpair(1,2|0x80000);print('ESCAPED')"),
  },
  {
    name: "stream pair cannot connect",
    modes: NETWORK,
    command: python("import socket;a,b=socket.socketpair();a.connect('{SOCK}');print('ESCAPED')"),
  },
  {
    name: "container control socket",
    modes: ALL,
    command: "ls /run/docker.sock /var/run/docker.sock /run/dbus /run/user 2>/dev/null && echo ESCAPED",
  },
  { name: "secret by file", modes: ALL, command: "cat {HOME}/.ssh/id_rsa {HOME}/.netrc ~/.ssh/*", core: true },
  {
    name: "state directory",
    modes: ALL,
    command: "cat {HOME}/.chimera/run/*; ls {HOME}/.chimera | grep . && echo ESCAPED",
    core: true,
  },
  {
    name: "state directory by alias",
    modes: ALL,
    command: "cat /proc/self/root{HOME}/.chimera/run/server.pid; cat {HOME}/./x/../.chimera/run/server.pid",
  },
  { name: "password hashes", modes: ALL, command: "grep -q ':' /etc/shadow && echo ESCAPED" },
];

const kernel: readonly Attempt[] = [
  { name: "io_uring", modes: ALL, command: syscall("(425,425)", "8", "ctypes.create_string_buffer(256)"), core: true },
  { name: "bpf", command: syscall("(321,280)", "0", "ctypes.create_string_buffer(72)", "72"), core: true },
  { name: "keyring", command: syscall("(250,219)", "0", "-3", "0"), core: true },
  { name: "add_key", command: syscall("(248,217)", "b'user'", "b'x'", "b'y'", "1", "-3") },
  { name: "userfaultfd", command: syscall("(323,282)", "1") },
  { name: "perf events", command: syscall("(298,241)", "ctypes.create_string_buffer(120)", "0", "-1", "-1", "0") },
  { name: "kernel log", command: syscall("(103,116)", "10", "0", "0") },
  { name: "kernel module", command: syscall("(313,273)", "0", "b''", "0") },
  { name: "set the clock", command: "date -s 2001-01-01 && echo ESCAPED" },
  { name: "host name", command: "hostname escaped 2>/dev/null && echo ESCAPED; true" },
  { name: "call from the future", command: syscall("(500,500)") },
  { name: "x32 call table", command: syscall("(0x40000000+41,500)", "1", "1", "0") },
  {
    name: "kernel settings",
    command:
      "for f in kernel/core_pattern kernel/hostname vm/swappiness; do v=$(cat /proc/sys/$f); echo $v > /proc/sys/$f && echo ESCAPED; done",
    core: true,
  },
  {
    name: "anything writable in procfs",
    command: "find /proc -maxdepth 4 -not -path '/proc/[0-9]*' -type f -writable 2>/dev/null | grep . && echo ESCAPED",
  },
  {
    name: "anything writable in sysfs",
    command: "find /sys -maxdepth 5 -type f -writable 2>/dev/null | grep . && echo ESCAPED",
  },
  {
    name: "system request",
    command: "test -w /proc/sysrq-trigger && echo ESCAPED; true >> /proc/sysrq-trigger && echo ESCAPED",
  },
  {
    name: "control groups",
    command: "test -w /sys/fs/cgroup && echo ESCAPED; true >> /sys/kernel/uevent_helper && echo ESCAPED",
  },
  {
    name: "capabilities are gone",
    command: "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -qv '0000000000000000' && echo ESCAPED",
    core: true,
  },
  { name: "no new privileges", command: "grep -q 'NoNewPrivs:.*1' /proc/self/status || echo ESCAPED", core: true },
  { name: "filter is loaded", command: "grep -q 'Seccomp:.*2' /proc/self/status || echo ESCAPED", core: true },
];

const workspace: readonly Attempt[] = [
  {
    name: "git hook",
    modes: WRITE,
    command: "echo x > {WS}/.git/hooks/pre-commit",
    creates: "{WS}/.git/hooks/pre-commit",
    core: true,
  },
  {
    name: "git configuration",
    modes: WRITE,
    command: "git -C {WS} config core.hooksPath /tmp && echo ESCAPED; echo x >> {WS}/.git/config && echo ESCAPED",
    core: true,
  },
  {
    name: "git directory moved away",
    modes: WRITE,
    command: "mv {WS}/.git {WS}/old && mkdir -p {WS}/.git/hooks && echo x > {WS}/.git/hooks/pre-commit",
    creates: "{WS}/.git/hooks/pre-commit",
    core: true,
  },
  {
    name: "hooks moved away",
    modes: WRITE,
    command:
      "mv {WS}/.git/hooks {WS}/.git/h && echo ESCAPED; rm -rf {WS}/.git/hooks; ln -s /tmp {WS}/.git/hooks && echo ESCAPED",
  },
  {
    name: "git configuration of the worktree",
    modes: WRITE,
    command:
      "printf '[core]\\n\\tfsmonitor = ./x\\n' > {WS}/.git/config.worktree; git -C {WS} config core.fsmonitor && echo ESCAPED",
    core: true,
  },
  {
    name: "git redirected to other settings",
    modes: WRITE,
    command:
      "mkdir -p {WS}/c/objects {WS}/c/refs; printf '[core]\\n\\tfsmonitor = ./x\\n' > {WS}/c/config; echo ../c > {WS}/.git/commondir; git -C {WS} config core.fsmonitor && echo ESCAPED; rm -f {WS}/.git/commondir && echo ESCAPED; rm -rf {WS}/c",
    core: true,
  },
  { name: "hook of a submodule", modes: WRITE, command: "mkdir -p {WS}/.git/modules/x/hooks && echo ESCAPED" },
  {
    name: "configuration that does not exist yet",
    modes: WRITE,
    command: "mkdir -p {WS}/.opencode/command; echo x > {WS}/.opencode/mcp.json",
    creates: "{WS}/.opencode/mcp.json",
    core: true,
  },
  {
    name: "configuration replaced by a link",
    modes: WRITE,
    command: "rmdir {WS}/.codex; ln -s /tmp {WS}/.codex && echo ESCAPED",
  },
  {
    name: "configuration moved in",
    modes: WRITE,
    command: "mkdir {WS}/c && echo x > {WS}/c/config.toml && mv -T {WS}/c {WS}/.codex && echo ESCAPED; rm -rf {WS}/c",
  },
  { name: "workspace moved away", modes: WRITE, command: "mv {WS} {WS}.old && echo ESCAPED" },
];

export const ATTEMPTS: readonly Attempt[] = [
  ...files,
  ...setId,
  ...mounts,
  ...processes,
  ...sockets,
  ...kernel,
  ...workspace,
  ...WALL_ATTEMPTS,
];

/** Commands of honest work, which must succeed; each prints `fine`. */
export const CONTROLS: readonly { name: string; mode: SandboxMode; command: string }[] = [
  { name: "read outside", mode: "read-only", command: "grep -q root /etc/passwd && echo fine" },
  { name: "read inside", mode: "read-only", command: "grep -q hello src/a.txt && echo fine" },
  { name: "write inside", mode: "workspace-write", command: "echo fine > {WS}/note && cat {WS}/note" },
  { name: "git status", mode: "workspace-write", command: "git -C {WS} status --short >/dev/null && echo fine" },
  {
    name: "git commit",
    mode: "workspace-write",
    command:
      "git add src && git -c user.name=a -c user.email=a@b commit -qm x && git log --oneline | grep -q x && echo fine",
  },
  {
    name: "node child",
    mode: "workspace-write",
    command: "node -e \"process.stdout.write(require('child_process').execSync('echo fine'))\"",
  },
  {
    name: "node worker and stdin pipe",
    mode: "workspace-write",
    command:
      "node -e \"const c=require('child_process').spawn('cat');c.stdout.pipe(process.stdout);c.stdin.end('fine')\"",
  },
  {
    name: "python subprocess",
    mode: "workspace-write",
    command: python("import subprocess;print(subprocess.run(['echo','fine'],capture_output=True,text=True).stdout)"),
  },
  {
    name: "a build",
    mode: "workspace-write",
    command:
      "mkdir -p {WS}/dist && node -e \"require('fs').writeFileSync('dist/out.js','console.log(String.fromCharCode(102,105,110,101))')\" && node dist/out.js",
  },
  { name: "scratch file", mode: "read-only", command: "echo fine > /tmp/note && cat /tmp/note" },
  {
    name: "archive and modes",
    mode: "workspace-write",
    command: "tar cf /tmp/a.tar src && tar xf /tmp/a.tar -C {WS} && chmod 755 src && echo fine",
  },
  {
    name: "a server of its own",
    mode: "workspace-write",
    command:
      "node -e \"require('http').createServer((q,r)=>r.end('fine')).listen(0,'127.0.0.1',function(){fetch('http://127.0.0.1:'+this.address().port).then(r=>r.text()).then(t=>{console.log(t);process.exit()})})\"",
  },
  {
    name: "a terminal of its own",
    mode: "read-only",
    command: python("import os,pty;m,s=pty.openpty();os.write(s,b'fine');print(os.read(m,9))"),
  },
  {
    name: "devices",
    mode: "read-only",
    command: "head -c1 /dev/urandom | wc -c | grep -q 1 && echo x > /dev/null && cat /dev/stdin <<< fine",
  },
  { name: "background and wait", mode: "workspace-write", command: "sleep 0.05 & wait && echo fine" },
];
