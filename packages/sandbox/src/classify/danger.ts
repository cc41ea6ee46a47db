import { homedir } from "node:os";
import { resolve } from "node:path";
import { isSecretName } from "../secrets.js";
import { words } from "../words.js";
import { globMatches, loosened } from "./rules.js";
import { type Invocation, programName } from "./unfold.js";

export type CommandRisk = "low" | "medium" | "high" | "critical";

const ORDER: readonly CommandRisk[] = ["low", "medium", "high", "critical"];

export function worse(a: CommandRisk, b: CommandRisk): CommandRisk {
  return ORDER.indexOf(a) >= ORDER.indexOf(b) ? a : b;
}

/** Directories whose loss would destroy the machine. */
const VITAL: ReadonlySet<string> = new Set(
  words(`
    / /bin /boot /dev /etc /home /lib /lib64 /opt /proc /root /sbin /srv /sys /usr /usr/bin /usr/lib /usr/local
    /var /var/lib /Users /System /Library /Applications
  `),
);

const DISK = /^\/dev\/(sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|dm-|md|loop|mapper\/|mem|kmem|port|zram)/;
const KERNEL_SWITCH = /^\/proc\/(sysrq-trigger|sys\/kernel\/core_pattern)/;
const VITAL_FILE = /^\/(etc\/(passwd|shadow|group|sudoers|fstab)|boot\/.*)$/;

/** Why the command must be denied without a question, or undefined. `directories` are those in which it could run. */
export function catastrophe(invocation: Invocation, directories: readonly string[]): string | undefined {
  const { argv, writes } = invocation;
  const name = programName(argv[0]);
  const args = argv.slice(1).map((word) => word ?? "");
  const overwritten = [...writes, ...(WRITERS.get(name)?.(args) ?? [])].find((target) => target && isVitalFile(target));
  if (overwritten) return `overwrites ${overwritten}`;
  const judge = /^(mkfs|mke2fs|mkswap)(\.|$)/.test(name) ? formatsDisk : CATASTROPHES.get(name);
  const touched = name === "mv" ? movedBy(args) : args;
  const home = touched.find((word) => isVital(word, directories, new Set([homedir()])));
  const vital = touched.find((word) => isVital(word, directories, VITAL));
  return judge?.({ args, vital, home, recursive: hasFlag(args, "rR", "recursive") });
}

/** How much harm a mistaken yes could do. */
export function riskOf(invocation: Invocation): CommandRisk {
  const { argv, writes } = invocation;
  const texts = argv.map((word) => word ?? "");
  const [name, args] = [programName(argv[0]), texts.slice(1)];
  let risk: CommandRisk = "medium";
  const raise = (to: CommandRisk, when: boolean): void => {
    if (when) risk = worse(risk, to);
  };
  const recursive = hasFlag(args, "rR", "recursive");
  raise("high", name === "rm" && recursive);
  raise("critical", name === "rm" && recursive && hasFlag(args, "f", "force"));
  raise("high", ["sudo", "doas", "su", "pkexec", "dd"].includes(name));
  raise("high", name === "chmod" && args.some((word) => /^0?777$/.test(word)));
  if (name === "git") {
    raise("high", args.includes("push") && args.some((word) => /^(-f|--force.*|--mirror|--delete|\+.+)$/.test(word)));
    raise("high", args.includes("reset") && args.includes("--hard"));
    raise("high", args.includes("clean") && hasFlag(args, "f", "force"));
    raise("high", args.includes("branch") && args.includes("-D"));
  }
  raise(
    "critical",
    texts.some((word) => /\b(DROP|TRUNCATE) (TABLE|DATABASE|SCHEMA)\b|\bDELETE FROM\b/.test(word)),
  );
  for (const word of [...texts, ...writes.map((target) => target ?? "")]) {
    raise("high", word.startsWith("/etc/") || isSecretName(word));
    raise("critical", /(^|\/)\.(ssh|gnupg|aws)(\/|$)|(credentials|secrets|tokens)\.(json|ya?ml|toml)$/.test(word));
  }
  return risk;
}

// --- internal ---

/** The paths that `mv` moves: its arguments without the target, which is the value of `-t` or the last word that is not an option. */
function movedBy(args: readonly string[]): readonly string[] {
  const isOption = (word: string, at: number) => /^-./.test(word) && !args.slice(0, at).includes("--");
  const named = args.findIndex((word, at) => isOption(word, at) && /^-([bfinTuvZ]*t|-t)/.test(word));
  const isApart = /^-([bfinTuvZ]*t|-t[a-z-]*)$/.test(args[named] ?? "");
  const last = args.findLastIndex((word, at) => !isOption(word, at));
  return args.toSpliced(named < 0 ? last : isApart ? named + 1 : args.length, 1);
}

function isVitalFile(target: string): boolean {
  return DISK.test(target) || KERNEL_SWITCH.test(target) || VITAL_FILE.test(target);
}

/** The files that a program overwrites or removes, among its arguments. */
const WRITERS: ReadonlyMap<string, (args: readonly string[]) => readonly string[]> = new Map([
  ...words("mv rm shred tee truncate unlink").map((name) => [name, (args: readonly string[]) => args] as const),
  ...words("cp install ln").map((name) => [name, (args: readonly string[]) => args.slice(-1)] as const),
  ["sed", (args) => (args.some((word) => /^-[a-zA-Z]*i|^--in-place/.test(word)) ? args : [])],
]);

/** The arguments of a program that can be catastrophic. */
interface Arguments {
  readonly args: readonly string[];
  /** The first argument that names a vital directory. */
  readonly vital: string | undefined;
  /** The first argument that names the home directory. */
  readonly home: string | undefined;
  readonly recursive: boolean;
}

/** Returns the catastrophe that the command would cause, or undefined. */
type Judge = (given: Arguments) => string | undefined;

const changesAccess: Judge = ({ recursive, vital }) =>
  recursive && vital ? `changes the access of ${vital}` : undefined;
const overwritesDisk = ({ args }: Pick<Arguments, "args">) =>
  args.some((word) => DISK.test(word)) ? "overwrites a disk" : undefined;
const formatsDisk: Judge = ({ args }) => (args.some((word) => word.startsWith("/dev/")) ? "formats a disk" : undefined);
const stopsMachine: Judge = () => "stops the machine";
const changesRunlevel: Judge = ({ args }) => (["0", "6"].includes(args[0] ?? "") ? "stops the machine" : undefined);
// As the first word, `-1` is a signal.
const endsEverything: Judge = ({ args }) => (args.indexOf("-1", 1) > 0 ? "ends every process" : undefined);
const erasesDisk: Judge = ({ args }) =>
  args.some((word) => DISK.test(word)) && args.some((word) => ERASES.test(word)) ? "erases a disk" : undefined;
const ERASES = /^(luksFormat|erase|format|sanitize|--security-erase.*)$/;

const removes: Judge = ({ args, recursive, vital, home = vital }) => {
  if (args.includes("--no-preserve-root")) return "removes everything";
  return recursive && home ? `removes ${home}` : undefined;
};
const moves: Judge = ({ vital, home = vital }) => (home ? `moves ${home}` : undefined);
const removesFound: Judge = ({ args, vital, home }) => {
  const start = vital ?? (args.some((word) => /^-i?(name|path|regex)$/.test(word)) ? undefined : home);
  const isRemoving = args.some((word) => ["-delete", "rm", "shred"].includes(word));
  return start && isRemoving ? `removes what is below ${start}` : undefined;
};
const removesOthers: Judge = ({ args, vital, home = vital }) =>
  home && args.some((word) => /^--del(ete|$)/.test(word)) ? `removes what is below ${home}` : undefined;

const CATASTROPHES: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ["rm", removes],
  ["mv", moves],
  ["find", removesFound],
  ["rsync", removesOthers],
  ["dd", ({ args }) => overwritesDisk({ args: args.map((word) => word.replace(/^of=/, "")) })],
  ["systemctl", ({ args }) => (args.some((word) => STOPS.has(word)) ? "stops the machine" : undefined)],
  ...rowsFor("chmod chown chgrp", changesAccess),
  ...rowsFor("badblocks blkdiscard parted pvremove sfdisk sgdisk wipefs", overwritesDisk),
  ...rowsFor("cryptsetup hdparm nvme", erasesDisk),
  ["kill", endsEverything],
  ["killall5", () => "ends every process"],
  ...rowsFor("shutdown reboot halt poweroff", stopsMachine),
  ...rowsFor("init telinit", changesRunlevel),
]);
const STOPS: ReadonlySet<string> = new Set(["poweroff", "reboot", "halt", "kexec"]);

function rowsFor(programs: string, judge: Judge): [string, Judge][] {
  return words(programs).map((name) => [name, judge]);
}

function isVital(word: string, directories: readonly string[], among: ReadonlySet<string>): boolean {
  if (word === "" || word.startsWith("-")) return false;
  // `/*` and `/.*` mean everything below the root.
  const spelled = word.replace(/^\$\{HOME\b[^}]*\}|^\$HOME\b/, "~").replace(/(^|\/)\.?[*?{}[\]]+$/, "$1") || ".";
  return directories.some((directory) => {
    const path = resolve(directory, /^~[^/]*(\/\.?)*$/.test(spelled) ? homedir() : spelled);
    return among.has(path) || (/[*?[]/.test(path) && [...among].some((vital) => globMatches(loosened(path), vital)));
  });
}

function hasFlag(args: readonly string[], letters: string, long: string): boolean {
  return args.some(
    (word) =>
      (/^-[A-Za-z]+$/.test(word) && [...letters].some((letter) => word.includes(letter))) ||
      // GNU programs accept any unambiguous prefix of a long option.
      (word.length > 3 && `--${long}`.startsWith(word)),
  );
}
