/** The supported architectures, with the names of `process.arch`. */
export type SeccompArch = "x64" | "arm64";

/** `AUDIT_ARCH_*`. A call with another number used a foreign call table. */
export const AUDIT_ARCH: Record<SeccompArch, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

/**
 * From this number on the kernel may have calls that this table does not know; they get ENOSYS. The x32 calls of x86-64 are above it too:
 * they have bit 30 set and would evade a comparison of plain numbers.
 */
export const FIRST_UNKNOWN = 467;

/** Calls that no confined command needs: other processes, mounts, namespaces, keys, control of kernel and clock. */
export const DENIED: Readonly<Record<string, Partial<Record<SeccompArch, number>>>> = {
  ptrace: { x64: 101, arm64: 117 },
  syslog: { x64: 103, arm64: 116 },
  uselib: { x64: 134 },
  vhangup: { x64: 153, arm64: 58 },
  modify_ldt: { x64: 154 },
  pivot_root: { x64: 155, arm64: 41 },
  adjtimex: { x64: 159, arm64: 171 },
  chroot: { x64: 161, arm64: 51 },
  acct: { x64: 163, arm64: 89 },
  settimeofday: { x64: 164, arm64: 170 },
  mount: { x64: 165, arm64: 40 },
  umount2: { x64: 166, arm64: 39 },
  swapon: { x64: 167, arm64: 224 },
  swapoff: { x64: 168, arm64: 225 },
  reboot: { x64: 169, arm64: 142 },
  sethostname: { x64: 170, arm64: 161 },
  setdomainname: { x64: 171, arm64: 162 },
  iopl: { x64: 172 },
  ioperm: { x64: 173 },
  init_module: { x64: 175, arm64: 105 },
  delete_module: { x64: 176, arm64: 106 },
  quotactl: { x64: 179, arm64: 60 },
  nfsservctl: { x64: 180, arm64: 42 },
  lookup_dcookie: { x64: 212, arm64: 18 },
  clock_settime: { x64: 227, arm64: 112 },
  kexec_load: { x64: 246, arm64: 104 },
  add_key: { x64: 248, arm64: 217 },
  request_key: { x64: 249, arm64: 218 },
  keyctl: { x64: 250, arm64: 219 },
  migrate_pages: { x64: 256, arm64: 238 },
  unshare: { x64: 272, arm64: 97 },
  move_pages: { x64: 279, arm64: 239 },
  perf_event_open: { x64: 298, arm64: 241 },
  fanotify_init: { x64: 300, arm64: 262 },
  open_by_handle_at: { x64: 304, arm64: 265 },
  clock_adjtime: { x64: 305, arm64: 266 },
  setns: { x64: 308, arm64: 268 },
  process_vm_readv: { x64: 310, arm64: 270 },
  process_vm_writev: { x64: 311, arm64: 271 },
  kcmp: { x64: 312, arm64: 272 },
  finit_module: { x64: 313, arm64: 273 },
  kexec_file_load: { x64: 320, arm64: 294 },
  bpf: { x64: 321, arm64: 280 },
  userfaultfd: { x64: 323, arm64: 282 },
};

/** Calls that were added after the tables were unified, with the same number everywhere. */
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

/** Calls that programs can do without. Their arguments are behind a pointer, which a filter cannot follow. */
export const ABSENT_EVERYWHERE: Readonly<Record<string, number>> = { clone3: 435, openat2: 437 };

/** Calls whose arguments decide. */
export const INSPECTED = {
  x64: { ioctl: 16, socket: 41, socketpair: 53, clone: 56 },
  arm64: { ioctl: 29, socket: 198, socketpair: 199, clone: 220 },
} as const satisfies Record<SeccompArch, Record<string, number>>;

/** Calls that can set a file's mode: the index of the mode argument and, if the mode matters only on creation, of the flags. */
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
