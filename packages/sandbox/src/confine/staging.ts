import { existsSync } from "node:fs";
import { byDepth, type Mount, SCRATCH_BYTES } from "./mount-plan.js";
import { enclosing, isInside } from "./paths.js";
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
  const sources = new Map(all.map((mount, index) => [mount, sourceOf(mount, index, all, anchors)]));
  const devices = DEVICES.filter((path) => existsSync(path));
  const fresh = new Set([PTS, SHM, ...(network ? [] : [NETWORK])]);
  const files = [...devices, PTMX].map((path) => STAGE + path);
  const binds = [
    ...devices.map((path) => line(path, STAGE + path, DEVICE_OPTIONS)),
    line(`${STAGE}/dev/pts/ptmx`, STAGE + PTMX),
    ...KERNEL_SETTINGS.filter((path) => existsSync(path)).map((path) => line(path, path, SEALED)),
  ];
  for (const { slots } of anchors) {
    // Bound while the other is read-only still, as everything is by then.
    if (slots.write && slots.read) fresh.add(line(slots.write, slots.read, "rbind,X-mount.mkdir"));
  }
  for (const mount of secretsFirst(all, anchors)) {
    const source = sources.get(mount)!;
    const outer = enclosing(mount, all);
    const isMissing = outer !== undefined && isEmptied(outer);
    if (mount !== DEV && isEmptied(mount)) fresh.add(emptyDirectory(source));
    if (isMissing && mount.kind === "file") files.push(sources.get(outer) + mount.path.slice(outer.path.length));
    binds.push(line(source, mount.path, isMissing && mount.kind === "directory" ? "X-mount.mkdir" : "defaults"));
  }
  return {
    anchors: anchors.map(({ path, slots }) => ({ path, slot: (slots.write ?? slots.read)! })),
    fresh: [...fresh].join("\n"),
    writable: anchors.flatMap(({ slots }) => slots.write ?? []),
    files,
    binds: binds.join("\n"),
  };
}

// --- internal ---

interface Anchor {
  readonly path: string;
  /** Its names on the stage, each where something is bound from it. */
  readonly slots: { readonly read?: string; readonly write?: string };
}

/** What every program expects in `/dev`; the rest of it is not for commands. */
const DEVICES = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
const PTMX = "/dev/ptmx";
const DEV: Mount = { path: "/dev", kind: "directory", view: "scratch" };

/** A bind has the flags of its source, and by then no device can be opened through any. */
const DEVICE_OPTIONS = "ro,nosuid,noexec,dev";

/** Some belong to the namespaces of a command, whoever runs it, and root owns all the others. */
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
  const outermost = shown.filter((mount) => !enclosing(mount, shown) || isVolume(mount));
  return outermost.map(({ path, kind }, index) => {
    const slot = (view: "read" | "write") =>
      shown.some((mount) => mount.view === view && isInside(mount.path, path))
        ? { [view]: `${STAGE}/${view}-${kind}${index}` }
        : {};
    return { path, slots: { ...slot("read"), ...slot("write") } };
  });
}

/** Another command may by now have put a link into an anchor: when it is followed there must be nothing secret to lead to. */
function secretsFirst(mounts: readonly Mount[], anchors: readonly Anchor[]): Mount[] {
  const isIn = (mount: Mount) => enclosing(mount, anchors) !== undefined;
  return [...mounts.filter((mount) => !isIn(mount)), ...mounts.filter(isIn)];
}

function sourceOf(mount: Mount, index: number, mounts: readonly Mount[], anchors: readonly Anchor[]): string {
  if (mount === DEV) return `${STAGE}/dev`;
  if (mount.view === "read" || mount.view === "write") {
    const { slots, path } = anchors.findLast((anchor) => isInside(mount.path, anchor.path))!;
    return slots[mount.view] + mount.path.slice(path.length);
  }
  if (mount.view === "scratch") return SCRATCH + index;
  if (mount.kind === "file") return "/dev/null";
  return mounts.some((inner) => enclosing(inner, mounts) === mount) ? HOLLOW + index : EMPTY;
}

function line(source: string, target: string, options = "defaults"): string {
  return `${fstabName(source)} ${fstabName(target)} none ${options} 0 0`;
}

/** What could end a field or a line, or begin a remark, is written by its number. */
function fstabName(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a name may hold any of them.
  return path.replace(/[\x01-\x20\\#"'\x7f]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`);
}
