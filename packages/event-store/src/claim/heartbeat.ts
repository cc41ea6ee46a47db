import { randomBytes } from "node:crypto";
import { closeSync, lstatSync, mkdirSync, openSync, readdirSync, rmSync, statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../limits.js";
import { orElse } from "../or-else.js";
import { describeSelf, type Holder } from "./identity.js";

/** One file per process whose time stamp moves while the process lives. All its claims refer to it. */
export interface Heartbeat {
  readonly self: Holder;
  /** Writes the first beat and keeps beating. Idempotent; called by the first claim. */
  start(): void;
  /**
   * How often a beat of this process was late, so that another process may have taken one of its claims. A holder that sees the count
   * change checks its claim again before it writes. It is a count because a process that was frozen beats before it does
   * anything else: its lateness alone would go unnoticed.
   */
  lapses(): number;
  /** Calls `check` after each beat that came late, until the returned function is called. */
  onLate(check: () => void): () => void;
  /** True when this process has seen the holder's beat unchanged for 30 s by its own clock. The first call only starts that time. */
  hasStopped(instance: string): boolean;
  stop(): void;
}

const STALE_FILE_MS = 24 * 60 * 60 * 1000;

/**
 * @param directory shared by every process that may compete for the same claims
 * @param program the name of this process in its claims
 * @param now milliseconds of a monotonic clock
 *
 * @example
 * const heartbeat = createHeartbeat(join(root, "beats"), "indexer");
 */
export function createHeartbeat(directory: string, program?: string, now = upMs): Heartbeat {
  // Computed on first use: a process that only reads claims nothing.
  let known: Holder | null = null;
  const self = (): Holder => {
    known ??= describeSelf(randomBytes(8).toString("hex"), program);
    return known;
  };
  const ownFile = (): string => fileOf(directory, self().instance);
  const seen = new Map<string, { mark: string; since: number }>();
  let timer: NodeJS.Timeout | null = null;
  let lastBeat = Number.NEGATIVE_INFINITY;
  let lapses = 0;
  const checks = new Set<() => void>();

  const isLate = (): boolean => now() - lastBeat > LIMITS.heartbeatLateMs;

  const beat = (): void => {
    const late = timer !== null && isLate();
    if (isLate()) lapses++;
    try {
      touch(ownFile());
      lastBeat = now();
    } catch {
      // A beat that cannot be written makes this process late, just as other processes see it.
    }
    if (late) for (const check of [...checks]) check();
  };

  return {
    get self() {
      return self();
    },
    start() {
      if (timer !== null) return;
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      sweep(directory);
      beat();
      timer = setInterval(beat, LIMITS.heartbeatMs);
      timer.unref();
    },
    lapses() {
      if (isLate()) lapses++;
      return lapses;
    },
    onLate(check) {
      checks.add(check);
      return () => checks.delete(check);
    },
    hasStopped(other) {
      const mark = markOf(fileOf(directory, other));
      const before = seen.get(other);
      if (before?.mark === mark) return now() - before.since >= LIMITS.heartbeatDeadMs;
      seen.set(other, { mark, since: now() });
      return false;
    },
    stop() {
      if (timer === null) return;
      clearInterval(timer);
      timer = null;
      lastBeat = Number.NEGATIVE_INFINITY;
      rmSync(ownFile(), { force: true });
    },
  };
}

// --- internal ---

/** Not `performance`, whose first use loads a module of Node at the start of a program. */
function upMs(): number {
  return process.uptime() * 1000;
}

function fileOf(directory: string, instance: string): string {
  return join(directory, `beat-${instance.replaceAll(/[^A-Za-z0-9-]/g, "_").slice(0, 64)}`);
}

function touch(path: string): void {
  const time = new Date();
  try {
    utimesSync(path, time, time);
  } catch {
    closeSync(openSync(path, "w", 0o600));
  }
}

function markOf(path: string): string {
  const found = orElse(() => statSync(path), null);
  return found ? `${found.ino}:${found.mtimeMs}` : "missing";
}

/** Removes the heartbeats that crashed processes left more than a day ago. */
function sweep(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith("beat-")) continue;
    const path = join(directory, name);
    try {
      const stats = lstatSync(path);
      // Heartbeat files are empty; any other file stays.
      if (stats.isFile() && stats.size === 0 && Date.now() - stats.mtimeMs > STALE_FILE_MS)
        rmSync(path, { force: true });
    } catch {
      // Another process swept it.
    }
  }
}
