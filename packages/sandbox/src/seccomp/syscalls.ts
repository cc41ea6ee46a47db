/** Machines a filter can be generated for, named as `process.arch` names them. */
export type SeccompArch = "x64" | "arm64";

/** `AUDIT_ARCH_*`: a call that arrives under another number came in through a foreign call table. */
export const AUDIT_ARCH: Record<SeccompArch, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/**
 * From this number on the kernel may know calls that this table does not; they answer ENOSYS. The x32 calls of x86-64, which
 * carry bit 30 and would dodge a comparison of plain numbers, lie above it too.
 */
export const FIRST_UNKNOWN = 467;

/** Calls no confined command needs: other processes, mounts, namespaces, keys, kernel and clock control. */
export const DENIED: Record<SeccompArch, Readonly<Record<string, number>>> = {
  x64: {
    ptrace: 101,
    syslog: 103,
    uselib: 134,
    vhangup: 153,
    modify_ldt: 154,
    pivot_root: 155,
    adjtimex: 159,
    chroot: 161,
    acct: 163,
    settimeofday: 164,
    mount: 165,
    umount2: 166,
    swapon: 167,
    swapoff: 168,
    reboot: 169,
    sethostname: 170,
    setdomainname: 171,
    iopl: 172,
    ioperm: 173,
    init_module: 175,
    delete_module: 176,
    quotactl: 179,
    nfsservctl: 180,
    lookup_dcookie: 212,
    clock_settime: 227,
    kexec_load: 246,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    migrate_pages: 256,
    unshare: 272,
    move_pages: 279,
    perf_event_open: 298,
    fanotify_init: 300,
    open_by_handle_at: 304,
    clock_adjtime: 305,
    setns: 308,
    process_vm_readv: 310,
    process_vm_writev: 311,
    kcmp: 312,
    finit_module: 313,
    kexec_file_load: 320,
    bpf: 321,
    userfaultfd: 323,
  },
  arm64: {
    lookup_dcookie: 18,
    umount2: 39,
    mount: 40,
    pivot_root: 41,
    nfsservctl: 42,
    chroot: 51,
    vhangup: 58,
    quotactl: 60,
    acct: 89,
    unshare: 97,
    kexec_load: 104,
    init_module: 105,
    delete_module: 106,
    clock_settime: 112,
    syslog: 116,
    ptrace: 117,
    reboot: 142,
    sethostname: 161,
    setdomainname: 162,
    settimeofday: 170,
    adjtimex: 171,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    swapon: 224,
    swapoff: 225,
    migrate_pages: 238,
    move_pages: 239,
    perf_event_open: 241,
    fanotify_init: 262,
    open_by_handle_at: 265,
    clock_adjtime: 266,
    setns: 268,
    process_vm_readv: 270,
    process_vm_writev: 271,
    kcmp: 272,
    finit_module: 273,
    bpf: 280,
    userfaultfd: 282,
    kexec_file_load: 294,
  },
};

/** Calls added after the two tables were unified: one number everywhere. */
export const DENIED_EVERYWHERE: Readonly<Record<string, number>> = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  pidfd_getfd: 438,
  process_madvise: 440,
  mount_setattr: 442,
  quotactl_fd: 443,
};

/** Calls programs fall back from. Their arguments lie behind a pointer, where a filter cannot look. */
export const ABSENT_EVERYWHERE: Readonly<Record<string, number>> = { clone3: 435, openat2: 437 };

/** Calls that are judged by their arguments. */
export const INSPECTED = {
  x64: { ioctl: 16, socket: 41, socketpair: 53, clone: 56 },
  arm64: { ioctl: 29, socket: 198, socketpair: 199, clone: 220 },
} as const satisfies Record<SeccompArch, Record<string, number>>;

/** Calls that can set a file's mode: the argument holding it and, where the mode counts only on creation, the flags. */
export const MODE_SETTERS: Record<SeccompArch, readonly { nr: number; mode: number; flags?: number }[]> = {
  x64: [
    { nr: 2, mode: 2, flags: 1 }, // open
    { nr: 257, mode: 3, flags: 2 }, // openat
    { nr: 85, mode: 1 }, // creat
    { nr: 90, mode: 1 }, // chmod
    { nr: 91, mode: 1 }, // fchmod
    { nr: 268, mode: 2 }, // fchmodat
    { nr: 452, mode: 2 }, // fchmodat2
    { nr: 133, mode: 1 }, // mknod
    { nr: 259, mode: 2 }, // mknodat
  ],
  arm64: [
    { nr: 56, mode: 3, flags: 2 }, // openat
    { nr: 52, mode: 1 }, // fchmod
    { nr: 53, mode: 2 }, // fchmodat
    { nr: 452, mode: 2 }, // fchmodat2
    { nr: 33, mode: 2 }, // mknodat
  ],
};
