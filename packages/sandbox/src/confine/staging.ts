import { constants, existsSync, readFileSync } from "node:fs";
import { byDepth, type Mount, SCRATCH_BYTES } from "./mount-plan.js";
import { enclosing, entryAt, isInside, isPermitted } from "./paths.js";
import type { Place } from "./place.js";

/** The directory in which mounts are prepared, and which is uncovered at the end: every Linux has it, and no workspace is in it. */
export const STAGE = "/sys";

/**
 * A plan as input for `mount`: each part is bound from the stage to the path at which a command will see it. Names on the stage are made
 * here and contain no special characters of the shell, except for those in `files`.
 */
export interface Staging {
  /** Parts of the file system that are bound to the stage before anything is covered. */
  readonly anchors: readonly { readonly path: string; readonly slot: string }[];
  /** The other mounts on the stage, in the format of `fstab`. */
  readonly fresh: string;
  /** Slots of the anchors that are made writable again afterwards. */
  readonly writable: readonly string[];
  /** Files on the stage that are the target of a bind. */
  readonly files: readonly string[];
  /** The binds from the stage in order, in the format of `fstab`. */
  readonly binds: string;
}

/** Plans how to make `mounts`. `volumes` are the file systems mounted in the writable ones. */
export function stageMounts(mounts: readonly Mount[], volumes: readonly Place[], network: boolean): Staging {
  const all = [DEV, ...withVolumes(mounts, volumes)];
  const anchors = findAnchors(all, volumes);
  const outermost = anchors.filter((anchor) => !enclosing(anchor, anchors));
  const sources = new Map(all.map((mount, index) => [mount, sourceOf(mount, index, all, anchors)]));
  const steps = all.map((mount): Step => {
    const outer = enclosing(mount, all);
    const around = outermost.find(({ path }) => isInside(mount.path, path));
    const source = sources.get(mount)!;
    // A mount in an emptied directory needs a new target there.
    return {
      mount,
      source,
      around,
      ...(outer && isEmptied(outer) && { made: sources.get(outer) + rest(mount, outer) }),
    };
  });
  return {
    anchors: anchors.map(({ path, slot }) => ({ path, slot })),
    fresh: freshLines(steps, anchors, network).join("\n"),
    writable: anchors.flatMap(({ write }) => write ?? []),
    files: [...DEVICES, PTMX].map((path) => STAGE + path).concat(steps.flatMap(fileOf)),
    binds: bindLines(steps, outermost).join("\n"),
  };
}

/** The file systems mounted at or in the writable ones of `mounts`, such as a container's volumes. */
export function findVolumes(mounts: readonly Mount[]): Place[] {
  if (!mounts.some(({ view }) => view === "write")) return [];
  const isWritable = (path: string): boolean => {
    const planned = mounts.find((mount) => mount.path === path) ?? enclosing({ path }, mounts);
    return planned?.view === "write";
  };
  // Look at no other mount points, because a look at a network file system without an answer would never end.
  return [...new Set(mountPoints())].filter(isWritable).flatMap((path) => {
    const entry = entryAt(path);
    const access = entry?.isDirectory() ? constants.X_OK : constants.R_OK;
    return entry && isPermitted(path, access) ? [{ path, kind: entry.isDirectory() ? "directory" : "file" }] : [];
  });
}

// --- internal ---

/** A part of the file system, with its names on the stage. */
interface Anchor extends Place {
  /** The read-only and the writable name, each only if something is bound from it. */
  readonly read?: string;
  readonly write?: string;
  /** The one of these names to which it is bound first. */
  readonly slot: string;
  /** The name under which the command's view of it is assembled. */
  readonly view: string;
}

interface Step {
  readonly mount: Mount;
  readonly source: string;
  /** The outermost anchor that contains or is this mount. */
  readonly around: Anchor | undefined;
  /** The target's name on the stage, if the target must be made. */
  readonly made?: string;
}

/** The devices that programs expect in `/dev`. Commands get no others. */
const DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
const PTMX = "/dev/ptmx";
const DEV: Mount = { path: "/dev", kind: "directory", view: "scratch" };

/** Allows devices explicitly, because a bind has the flags of its source, and all sources forbid devices by then. */
const DEVICE_OPTIONS = "ro,nosuid,noexec,dev";

/** Made read-only: any user may write some of these settings in a new namespace, and root may write all others. */
const KERNEL_SETTINGS = ["/proc/sys", "/proc/pressure"];
const SEALED = "ro,nosuid,nodev,noexec";

const PTS = `pts ${STAGE}/dev/pts devpts nosuid,noexec,newinstance,ptmxmode=0666,mode=620,X-mount.mkdir 0 0`;
const SHM = `shm ${STAGE}/dev/shm tmpfs nosuid,nodev,mode=1777,size=${SCRATCH_BYTES},X-mount.mkdir 0 0`;
/** The devices of the command's own network, so that the loopback device can be switched on. */
const NETWORK = `network ${STAGE}/network sysfs nosuid,nodev,noexec,X-mount.mkdir 0 0`;

/** Replaces hidden directories. A hidden directory with something visible in it gets its own, which its mode makes read-only. */
const EMPTY = `${STAGE}/empty`;
const HOLLOW = `${STAGE}/hollow`;
const SCRATCH = `${STAGE}/scratch`;

function freshLines(steps: readonly Step[], anchors: readonly Anchor[], network: boolean): string[] {
  const emptied = steps
    .filter(({ mount }) => mount !== DEV && isEmptied(mount))
    .map(({ source }) => emptyDirectory(source));
  // Bind the read-only name while the writable one is still read-only, like everything at that time.
  const sealed = anchors.flatMap(({ read, write }) => (read && write ? line(write, read, "rbind,X-mount.mkdir") : []));
  return [PTS, SHM, ...(network ? [] : [NETWORK]), ...new Set(emptied), ...sealed];
}

/**
 * An anchor is assembled on the stage and then bound as a whole, because its path may lead elsewhere by now. A path inside it may do so
 * too, if another command has put a link there. When it is followed, all secrets around it are hidden already.
 */
function bindLines(steps: readonly Step[], outermost: readonly Anchor[]): string[] {
  const isShown = ({ mount, around }: Step) => around?.path === mount.path;
  const toView = ({ mount, around }: Step) => around!.view + rest(mount, around!);
  return [
    ...DEVICES.map((path) => line(path, STAGE + path, DEVICE_OPTIONS)),
    line(`${STAGE}/dev/pts/ptmx`, STAGE + PTMX),
    ...KERNEL_SETTINGS.filter((path) => existsSync(path)).map((path) => line(path, path, SEALED)),
    ...steps.filter(({ around }) => !around).map((step) => line(step.source, step.mount.path, optionsOf(step))),
    ...outermost.filter(({ slot, view }) => slot !== view).map(({ slot, view }) => line(slot, view, "X-mount.mkdir")),
    ...steps
      .filter((step) => step.around && !isShown(step))
      .map((step) => line(step.source, toView(step), optionsOf(step))),
    ...steps.filter(isShown).map((step) => line(step.around!.view, step.mount.path, optionsOf(step))),
  ];
}

function optionsOf({ mount, made }: Step): string {
  return made !== undefined && mount.kind === "directory" ? "X-mount.mkdir" : "defaults";
}

function fileOf({ mount, made }: Step): string[] {
  return made !== undefined && mount.kind === "file" ? [made] : [];
}

function emptyDirectory(source: string): string {
  const options = source === EMPTY ? "ro,mode=0555" : source.startsWith(HOLLOW) ? "mode=0555" : "mode=0755";
  return `empty ${source} tmpfs nosuid,nodev,${options},size=${SCRATCH_BYTES},X-mount.mkdir 0 0`;
}

function isEmptied({ view, kind }: Mount): boolean {
  return view === "scratch" || (view === "hide" && kind === "directory");
}

/** Adds volumes in writable places, which are writable too. */
function withVolumes(mounts: readonly Mount[], volumes: readonly Place[]): Mount[] {
  const planned = new Set(mounts.map(({ path }) => path));
  const more = volumes.filter(({ path }) => !planned.has(path));
  return [...mounts, ...more.map((place) => ({ ...place, view: "write" as const }))].sort(byDepth);
}

/** The outermost visible places, and each volume, because a bind of the directory around a volume is read-only there. */
function findAnchors(mounts: readonly Mount[], volumes: readonly Place[]): Anchor[] {
  const shown = mounts.filter(({ view }) => view === "read" || view === "write");
  const isVolume = ({ path, view }: Mount) => view === "write" && volumes.some((volume) => volume.path === path);
  const held = shown.filter((mount) => !enclosing(mount, shown) || isVolume(mount));
  return held.map(({ path, kind, view }, index) => {
    const slot = (name: string) => `${STAGE}/${name}-${kind}${index}`;
    const isUsed = (use: Mount["view"]) => shown.some((mount) => mount.view === use && isInside(mount.path, path));
    return {
      path,
      kind,
      ...(isUsed("read") && { read: slot("read") }),
      ...(isUsed("write") && { write: slot("write") }),
      slot: slot(isUsed("write") ? "write" : "read"),
      view: slot(kind === "directory" ? "view" : view),
    };
  });
}

function sourceOf(mount: Mount, index: number, mounts: readonly Mount[], anchors: readonly Anchor[]): string {
  if (mount === DEV) return `${STAGE}/dev`;
  if (mount.view === "read" || mount.view === "write") {
    const anchor = anchors.findLast(({ path }) => isInside(mount.path, path))!;
    return anchor[mount.view] + rest(mount, anchor);
  }
  if (mount.view === "scratch") return SCRATCH + index;
  if (mount.kind === "file") return "/dev/null";
  return mounts.some((inner) => enclosing(inner, mounts) === mount) ? HOLLOW + index : EMPTY;
}

/** The part of a path after an outer path. */
function rest(inner: Pick<Place, "path">, outer: Pick<Place, "path">): string {
  return inner.path.slice(outer.path.length);
}

function line(source: string, target: string, options = "defaults"): string {
  return `${fstabName(source)} ${fstabName(target)} none ${options} 0 0`;
}

/** Escapes characters that would end a field or a line, or begin a comment. */
function fstabName(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a path may contain control characters
  return path.replace(/[\x01-\x20\\#"'\x7f]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

/** All mount points. The kernel escapes blanks, newlines and backslashes in them. */
function mountPoints(): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .trim()
    .split("\n")
    .map((line) => (line.split(" ", 5)[4] ?? "").replace(/\\([0-7]{3})/g, (_, digits) => character(digits)));
}

function character(digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 8));
}
