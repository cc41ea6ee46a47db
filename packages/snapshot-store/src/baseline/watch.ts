/**
 * Reports which files of a directory may have changed, so that a scan need not check every one. It relies only on
 * inotify on a local disk, where the kernel queues each change before the call that made it returns. Elsewhere, and
 * whenever a notice may have been lost, the scan checks all files.
 */
import { existsSync, type FSWatcher, readFileSync, statfsSync, statSync, utimesSync, watch } from "node:fs";
import { replaceFile } from "../content/atomic-file.js";
import { orElse } from "../errors.js";
import { fsPath, textOfBytes } from "../workspace/path-bytes.js";

export type Watcher = ReturnType<typeof createWatcher>;
export type DirectoryWatch = NonNullable<ReturnType<Watcher["watch"]>>;

/** @param root decides which device is watched. @param bell a file that the watcher touches to receive its own notice. */
export function createWatcher(root: string, bell: string) {
  const device = deviceWatched(root);
  const open = new Set<{ lose(): void; close(): void }>();
  const maxWatches = Math.min(MAX_WATCHES, kernelLimit("max_user_watches") / 4);
  /** Node does not say when the kernel's queue overflows. This watcher counts on a quarter of it; the rest is for other programs. */
  const maxEvents = kernelLimit("max_queued_events") / 4;
  let events = 0;
  const idle = setTimeout(() => {
    for (const each of open) each.close();
  }, IDLE_MS).unref();

  return {
    /** The clock that stamps files, read once: this process's own may be off, or be set while it is used. */
    stampClock() {
      // Uses a file of its own, because `ring` must not receive this change.
      const at = stampNow(`${bell}.time`);
      const read = performance.now();
      return () => at + performance.now() - read;
    },
    /** Once this resolves, the watcher knows every change made before the call. */
    async catchUp() {
      idle.refresh();
      if (open.size === 0) return;
      const heard = await ring(bell);
      if (!heard || events > maxEvents) for (const each of open) each.lose();
      events = 0;
    },
    /** Watches one directory, not what is below it; null when the kernel may not report all of its changes. */
    watch(directory: string, directoryDevice: number) {
      if (directoryDevice !== device || open.size >= maxWatches) return null;
      let suspects: Set<string> | null = new Set<string>();
      const lose = () => {
        suspects = null;
      };
      const ownName = directory.slice(directory.lastIndexOf("/") + 1);
      const handle = startWatch(directory, (type, bytes) => {
        events += 1;
        const name = bytes === null ? ownName : textOfBytes(bytes);
        // The directory's own name: it was moved or removed itself. An entry with the same name has the same, harmless effect.
        if (name === ownName && type === "rename") lose();
        else if (events <= maxEvents) suspects?.add(name);
      });
      if (handle === null) return null;
      handle.on("error", lose);
      const entry = {
        lose,
        close() {
          lose();
          open.delete(entry);
          handle.close();
        },
      };
      open.add(entry);
      return {
        close: entry.close,
        /** Adds a name to those to check. */
        suspect: (name: string) => void suspects?.add(name),
        /** The names that may have changed since the last call; null when any may have, after which the watch is useless. */
        take(): ReadonlySet<string> | null {
          if (suspects === null || suspects.size === 0) return suspects;
          const taken = suspects;
          suspects = new Set();
          return taken;
        },
      };
    },
  };
}

// --- internal ---

/** statfs types of local file systems, where inotify sees every change. */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x01021994, // tmpfs
  0xf2f52010, // f2fs
  0x2fc12fc1, // zfs
  0x794c7630, // overlayfs
]);

/** The kernel limits watches per user, and the user's editor needs some, too. */
const MAX_WATCHES = 4096;
/** After this long without a command, the watches are closed. */
const IDLE_MS = 10 * 60 * 1000;
const RING_TIMEOUT_MS = 1000;

function deviceWatched(root: string): number | null {
  if (process.platform !== "linux") return null;
  const address = fsPath(root);
  return orElse(() => (LOCAL_FILE_SYSTEMS.has(statfsSync(address).type) ? statSync(address).dev : null), null);
}

/** A limit of the kernel; 0, which allows no watch, when it cannot be read. */
function kernelLimit(name: string): number {
  return orElse(() => Number(readFileSync(`/proc/sys/fs/inotify/${name}`, "utf8")) || 0, 0);
}

function startWatch(path: string, listener: (type: string, name: Buffer | null) => void): FSWatcher | null {
  // It throws when the kernel has no more watches, or the path is gone.
  return orElse(() => watch(fsPath(path), { persistent: false, encoding: "buffer" }, listener), null);
}

/** The current time of the clock that stamps files: the system sets a file's change time from it, whatever times are requested. */
function stampNow(file: string): number {
  try {
    if (!existsSync(file)) replaceFile(file, "");
    utimesSync(file, new Date(), new Date());
    return statSync(file).ctimeMs;
  } catch {
    return Date.now();
  }
}

/** Touches the bell and waits for its notice. The kernel reports changes in order, so all earlier notices have arrived by then. */
function ring(bell: string): Promise<boolean> {
  return new Promise((resolve) => {
    let handle: FSWatcher | null = null;
    const timer = setTimeout(() => end(false), RING_TIMEOUT_MS);
    const end = (heard: boolean) => {
      clearTimeout(timer);
      handle?.close();
      resolve(heard);
    };
    try {
      if (!existsSync(bell)) replaceFile(bell, "");
      handle = startWatch(bell, () => end(true));
      utimesSync(bell, new Date(), new Date());
    } catch {
      end(false);
    }
    if (handle === null) end(false);
  });
}
