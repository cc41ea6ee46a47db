/** The snapshots of one session. Its calls run one after another, and nothing is lost when the process dies. */
import { dirname } from "node:path";
import type { Baseline } from "./baseline/baseline.js";
import type { ObservedCommand } from "./baseline/observed-command.js";
import { createBlobs } from "./content/blobs.js";
import { statIfAny } from "./content/file-state.js";
import { removeOwnDirectory } from "./content/own-files.js";
import { editsOf } from "./diff/edits.js";
import { SnapshotError, toSnapshotError } from "./errors.js";
import type { SnapshotLimits } from "./limits.js";
import { createPacer, createSerial, paced } from "./pacer.js";
import { keepRestore, makePlan, restore, settleRestore, takeBackRestore } from "./restore/restore.js";
import type { Workplace } from "./restore/workplace.js";
import { type CaptureContext, captureAfter, captureBefore, captureCommand } from "./turn/capture.js";
import { type Manifest, snapshotOf } from "./turn/manifest.js";
import { createManifests } from "./turn/manifests.js";
import type { OpenTurn } from "./turn/open-turn.js";
import type {
  Direction,
  FileOutcome,
  RecoveryReport,
  Restore,
  RestoreLog,
  RestoreOptions,
  RunOptions,
  SessionSnapshots,
} from "./types.js";
import { sweepDrafts } from "./workspace/drafts.js";
import { fsPath } from "./workspace/path-bytes.js";
import { pinBelow } from "./workspace/pinned-dir.js";
import type { Roots } from "./workspace/roots.js";

export function createSessionSnapshots(deps: {
  readonly sessionId: string;
  readonly directory: string;
  readonly roots: Roots;
  readonly limits: SnapshotLimits;
  readonly clock: () => number;
  baseline(root: string): Baseline;
  readonly log: RestoreLog;
}): SessionSnapshots {
  const { sessionId, directory, roots, limits, clock, log } = deps;
  const requireHeld = () => log.requireHeld();
  const blobs = createBlobs(`${directory}/blobs`);
  const manifests = createManifests(directory, blobs, roots, limits);
  const place: Workplace = { roots, blobs, fileBytes: limits.fileBytes, requireHeld };
  const context: CaptureContext = { roots, blobs, limits, baseline: deps.baseline };
  /** The commands in progress of this session, by the function that ends each. */
  const commands = new Map<() => Promise<readonly string[]>, ReadonlyMap<ObservedCommand, Baseline>>();
  /** The number of the running turn. */
  let begun: number | null = null;
  /** The files that the turn found; null until it touches one, which most turns never do. */
  let turn: OpenTurn | null = null;
  let ready = false;
  const serial = createSerial();
  /** `beginTurn` never throws; the turn's next call throws this. */
  let beginError: unknown = null;
  function inTurn<T>(doing: string, work: () => Promise<T> | T, signal?: AbortSignal): Promise<T> {
    return serial(work).catch((error: unknown) => {
      requireHeld();
      throw signal?.aborted ? signal.reason : toSnapshotError(error, doing);
    });
  }

  function enqueue<T>(doing: string, work: () => Promise<T> | T, signal?: AbortSignal): Promise<T> {
    const repaired = async () => {
      requireHeld();
      if (!ready) await takeUp();
      return work();
    };
    return inTurn(doing, repaired, signal);
  }

  /** Repairs the state that an earlier process left, or a restore that could not be taken back. */
  async function takeUp(): Promise<RecoveryReport["result"] | null> {
    const result = await settleRestore(directory, place, log);
    const left = manifests.interrupted();
    if (left !== null) {
      await sweepBeside([...left.before.keys(), ...left.skipped.keys()]);
      for (const [root, startedAt] of left.running) {
        const known = roots.paths.includes(root) && (await resumeCommand(left, root, startedAt));
        if (!known) left.skip(root, "interrupted_command");
      }
      await finish(left);
    }
    ready = true;
    return result;
  }

  /** Removes the drafts that interrupted writes left beside files. */
  async function sweepBeside(paths: readonly string[]): Promise<void> {
    for (const directory of new Set(paths.map((path) => dirname(path)))) {
      const place = roots.locate(`${directory}/any`);
      const pinned = place && pinBelow(place.root, place.parts.slice(0, -1));
      if (pinned !== null) await sweepDrafts(pinned.at).finally(pinned.close);
    }
  }

  function resumeCommand(left: OpenTurn, root: string, startedAt: number): Promise<boolean> {
    const baseline = deps.baseline(root);
    return baseline.resumeCommand(startedAt, (run) => left.together(() => captureCommand(left, run, baseline, blobs)));
  }

  async function finish(open: OpenTurn): Promise<Manifest | null> {
    return paced(manifests.ending(open, await captureAfter(open, context), clock()), createPacer());
  }

  function running(): OpenTurn {
    if (beginError !== null) throw beginError;
    if (begun === null) throw new SnapshotError("no_turn", "beginTurn was not called");
    turn ??= manifests.begin(begun);
    return turn;
  }

  function abandon(runs: ReadonlyMap<ObservedCommand, Baseline>): void {
    for (const [run, baseline] of runs) baseline.abandonCommand(run);
  }

  async function finishCommands(): Promise<void> {
    for (const end of [...commands.keys()]) await end();
  }

  async function startCommand({ signal, mine, onUncovered }: RunOptions): Promise<() => Promise<readonly string[]>> {
    const open = running();
    const runs = new Map<ObservedCommand, Baseline>();
    try {
      for (const root of roots.paths) {
        const baseline = deps.baseline(root);
        const run = await baseline.startCommand(signal);
        runs.set(run, baseline);
        open.commandStarted(root, run.startedAt);
        const reason = run.skipped.get(root);
        if (reason === "time_limit" || reason === "quota") onUncovered?.(root, reason);
      }
    } catch (error) {
      abandon(runs);
      throw error;
    }
    const end = async () => {
      const left: string[] = [];
      if (!commands.delete(end)) return left;
      try {
        for (const [run, baseline] of runs) {
          await baseline.finishCommand(run, () => {
            if (mine) left.push(...leaveOthers(run, mine));
            return open.together(() => captureCommand(open, run, baseline, blobs));
          });
        }
      } finally {
        // Abandon the runs that the loop did not reach.
        abandon(runs);
      }
      if (commands.size === 0) for (const root of roots.paths) open.commandEnded(root);
      return left;
    };
    commands.set(end, runs);
    return () => enqueue("looking for what a command changed", end);
  }

  async function restoreTurns(
    turns: readonly number[],
    direction: Direction,
    { after, force = false, dryRun = false, edited = () => [] }: RestoreOptions,
  ): Promise<Restore> {
    if (begun !== null) throw new SnapshotError("turn_running", `a turn is running; ${direction} when it has ended`);
    // The last restore's journal still exists if its record could not be synced. Settle it, so that this restore does not take it back.
    await settleRestore(directory, place, log);
    const plan = await makePlan(manifests.of(turns, direction, edited), direction, force, place);
    if (dryRun || (plan.files.length === 0 && plan.dirs.length === 0)) {
      return restoreOf(plan.outcomes, { keep: async () => {}, takeBack: async () => {} });
    }
    // If this fails, the next call checks whether a restore must still be taken back.
    ready = false;
    const files = await restore(directory, plan, { direction, after }, place);
    ready = true;
    return restoreOf(files, {
      keep: () => enqueue("keeping a restore", () => keepRestore(directory)),
      takeBack: () =>
        enqueue("taking a restore back", async () => {
          ready = false;
          await takeBackRestore(directory, place);
          ready = true;
        }),
    });
  }

  return {
    async settle() {
      try {
        const result = await inTurn("repairing what a crash left", takeUp);
        return result === null ? null : { sessionId, result };
      } catch (error) {
        return { sessionId, result: "failed", message: (error as SnapshotError).message };
      }
    },
    beginTurn(number) {
      beginError = null;
      enqueue("starting a turn", async () => {
        await finishCommands();
        if (turn !== null) await finish(turn);
        turn = null;
        begun = number;
      }).catch((error) => {
        beginError = error;
      });
    },
    willWrite(path) {
      return enqueue(`keeping ${path}`, async () => {
        const own = new Set([...commands.values()].flatMap((runs) => [...runs.keys()]));
        for (const noted of await captureBefore(running(), path, context)) {
          const located = roots.locate(noted);
          if (located !== null) deps.baseline(located.root).announce(noted, own);
        }
      });
    },
    willRun(options = {}) {
      return enqueue("preparing for a command", () => startCommand(options), options.signal);
    },
    endTurn(reachable) {
      return enqueue("ending a turn", async () => {
        if (beginError !== null || begun === null) running();
        await finishCommands();
        const manifest = turn === null ? null : await finish(turn);
        if (reachable !== undefined) manifests.keepOnly(new Set([...reachable, begun!]));
        turn = null;
        begun = null;
        return manifest === null ? null : snapshotOf(manifest);
      });
    },
    restore: (turns, direction, options) =>
      enqueue(`${direction} of files`, () => restoreTurns(turns, direction, options)),
    list: () => enqueue("listing snapshots", () => manifests.all().map(snapshotOf)),
    edits: (snapId) => enqueue("comparing files", () => editsOf(manifests.manifest(snapId), blobs, roots.cwd)),
    drop: () =>
      enqueue("forgetting a session", async () => {
        await settleRestore(directory, place, log);
        turn = null;
        begun = null;
        for (const runs of commands.values()) abandon(runs);
        commands.clear();
        removeOwnDirectory(directory);
        manifests.reset();
      }),
  };
}

// --- internal ---

/** Removes changes that other programs made from a run, and returns their paths. */
function leaveOthers(run: ObservedCommand, mine: NonNullable<RunOptions["mine"]>): string[] {
  const isTheirs = (path: string) => {
    const stat = statIfAny(fsPath(path));
    return !mine(path, stat === null ? null : Math.max(stat.mtimeMs, stat.ctimeMs));
  };
  const theirs = [...run.files.keys()].filter(isTheirs);
  for (const path of theirs) run.files.delete(path);
  for (const path of [...run.dirs.keys()].filter(isTheirs)) run.dirs.delete(path);
  return theirs;
}

function restoreOf(files: readonly FileOutcome[], ends: Pick<Restore, "keep" | "takeBack">): Restore {
  const conflicts = files.filter(({ outcome }) => outcome === "conflict").map(({ path }) => path);
  return { files, conflicts, ...ends };
}
