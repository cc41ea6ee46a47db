import { constants, existsSync, readFileSync } from "node:fs";
import { byDepth, type Mount, SCRATCH_BYTES } from "./mount-plan.js";
import { enclosing, entryAt, isInside, isPermitted } from "./paths.js";
import type { Place } from "./place.js";

/** Where everything is prepared, and which is uncovered again in the end: no workspace lies there, and every Linux has it. */
export const STAGE = "/sys";

/**
 * A plan as work for `mount`: each part of it is bound from the stage to where a command shall see it. Names on the stage are
 * made here and hold nothing that a shell would read, but for those in `files`.
 */
export interface Staging {
  /** Parts of the file system that are taken hold of as they are, before anything is covered. */
  readonly anchors: readonly { readonly path: string; readonly slot: string }[];
  /** What the stage holds besides them, in the format of `fstab`. */
  readonly fresh: string;
  /** The anchors that are made writable again after that, by their slots. */
  readonly writable: readonly string[];
  /** Files of the stage that something is bound to. */
  readonly files: readonly string[];
  /** What is bound from the stage, in the format of `fstab` and in order. */
  readonly binds: string;
}

/** Works out how `mounts` are made; `volumes` are the file systems that somebody mounted in the writable ones of them. */
export function stageMounts(mounts: readonly Mount[], volumes: readonly Place[], network: boolean): Staging {
  const all = [DEV, ...withVolumes(mounts, volumes)];
  const anchors = findAnchors(all, volumes);
  const outermost = anchors.filter((anchor) => !enclosing(anchor, anchors));
  const sources = new Map(all.map((mount, index) => [mount, sourceOf(mount, index, all, anchors)]));
  const steps = all.map((mount): Step => {
    const outer = enclosing(mount, all);
    const around = outermost.find(({ path }) => isInside(mount.path, path));
    const source = sources.get(mount)!;
    // What is bound into an emptied directory has no place there yet.
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

/** The file systems that somebody mounted at or in the writable ones of `mounts`, as a container's volumes are. */
export function findVolumes(mounts: readonly Mount[]): Place[] {
  if (!mounts.some(({ view }) => view === "write")) return [];
  const isWritable = (path: string): boolean => {
    const planned = mounts.find((mount) => mount.path === path) ?? enclosing({ path }, mounts);
    return planned?.view === "write";
  };
  // Nothing else is looked at: the look at a server that does not answer would not end.
  return [...new Set(mountPoints())].filter(isWritable).flatMap((path) => {
    const entry = entryAt(path);
    const access = entry?.isDirectory() ? constants.X_OK : constants.R_OK;
    return entry && isPermitted(path, access) ? [{ path, kind: entry.isDirectory() ? "directory" : "file" }] : [];
  });
}

// --- internal ---

/** A part of the file system by its names on the stage. */
interface Anchor extends Place {
  /** Read-only and writable, each where something is bound from it. */
  readonly read?: string;
  readonly write?: string;
  /** The one of them it is taken hold of by. */
  readonly slot: string;
  /** Where that which a command sees of it is put together. */
  readonly view: string;
}

interface Step {
  readonly mount: Mount;
  readonly source: string;
  /** The outermost anchor it lies in, or is. */
  readonly around: Anchor | undefined;
  /** The name on the stage of what it is bound to, if that must be made. */
  readonly made?: string;
}

/** What every program expects in `/dev`; the rest of it is not for commands. */
const DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
const PTMX = "/dev/ptmx";
const DEV: Mount = { path: "/dev", kind: "directory", view: "scratch" };

/** A bind has the flags of its source, and by then no device can be opened through any. */
const DEVICE_OPTIONS = "ro,nosuid,noexec,dev";

/** Some belong to the namespaces of a command for every user, and root owns all the others. */
const KERNEL_SETTINGS = ["/proc/sys", "/proc/pressure"];
const SEALED = "ro,nosuid,nodev,noexec";

const PTS = `pts ${STAGE}/dev/pts devpts nosuid,noexec,newinstance,ptmxmode=0666,mode=620,X-mount.mkdir 0 0`;
const SHM = `shm ${STAGE}/dev/shm tmpfs nosuid,nodev,mode=1777,size=${SCRATCH_BYTES},X-mount.mkdir 0 0`;
/** The devices of the network that the command has for itself, for the loopback device among them to be switched on. */
const NETWORK = `network ${STAGE}/network sysfs nosuid,nodev,noexec,X-mount.mkdir 0 0`;

/** Shown in place of hidden directories. One that something visible lies in gets its own, which cannot be written by its mode. */
const EMPTY = `${STAGE}/empty`;
const HOLLOW = `${STAGE}/hollow`;
const SCRATCH = `${STAGE}/scratch`;

function freshLines(steps: readonly Step[], anchors: readonly Anchor[], network: boolean): string[] {
  const emptied = steps
    .filter(({ mount }) => mount !== DEV && isEmptied(mount))
    .map(({ source }) => emptyDirectory(source));
  // The read-only name is bound while the writable one is read-only still, as everything is by then.
  const sealed = anchors.flatMap(({ read, write }) => (read && write ? line(write, read, "rbind,X-mount.mkdir") : []));
  return [PTS, SHM, ...(network ? [] : [NETWORK]), ...new Set(emptied), ...sealed];
}

/**
 * An anchor is put together on the stage and then shown as a whole, since its name may lead elsewhere by now. So may a name
 * inside it, if another command has put a link there: when that is followed, everything secret around is hidden already.
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

/** What is mounted in a writable place is writable too. */
function withVolumes(mounts: readonly Mount[], volumes: readonly Place[]): Mount[] {
  const planned = new Set(mounts.map(({ path }) => path));
  const more = volumes.filter(({ path }) => !planned.has(path));
  return [...mounts, ...more.map((place) => ({ ...place, view: "write" as const }))].sort(byDepth);
}

/** The outermost places that are shown as they are, and each volume, since a bind of what lies around it is read-only there. */
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

/** The part of a path after the place it lies in. */
function rest(inner: Pick<Place, "path">, outer: Pick<Place, "path">): string {
  return inner.path.slice(outer.path.length);
}

function line(source: string, target: string, options = "defaults"): string {
  return `${fstabName(source)} ${fstabName(target)} none ${options} 0 0`;
}

/** What could end a field or a line, or begin a remark, is written by its number. */
function fstabName(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a name may hold any of them.
  return path.replace(/[\x01-\x20\\#"'\x7f]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

/** The kernel writes blanks, line ends and backslashes by their numbers. */
function mountPoints(): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .trim()
    .split("\n")
    .map((line) => (line.split(" ", 5)[4] ?? "").replace(/\\([0-7]{3})/g, (_, digits) => character(digits)));
}

function character(digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 8));
}
