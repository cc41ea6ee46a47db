/** The undo history of one session: its calls run one after another, and nothing is lost when the process dies. */
import { existsSync, rmSync } from "node:fs";
import type { Baseline } from "./baseline/baseline.js";
import type { Run } from "./baseline/run.js";
import { createBlobs } from "./content/blobs.js";
import { diffAcross, editsOf } from "./diff/snapshot-diff.js";
import { SnapshotError, toSnapshotError } from "./errors.js";
import type { SnapshotLimits } from "./limits.js";
import { createPacer, paced } from "./pacer.js";
import { makePlan, recoverRestore, restore } from "./restore/restore.js";
import { lookingAt, type Workplace } from "./restore/workplace.js";
import { type CaptureContext, captureAfter, captureBefore, captureRun } from "./turn/capture.js";
import { createHistory } from "./turn/history.js";
import { type Manifest, snapshotOf } from "./turn/manifest.js";
import type { OpenTurn } from "./turn/open-turn.js";
import { type Direction, next, type Step, take } from "./turn/stack.js";
import type { RestoreOptions, RestoreReport, SessionSnapshots, TurnSnapshot } from "./types.js";
import type { Roots } from "./workspace/roots.js";

export interface SessionDeps {
  readonly sessionId: string;
  readonly directory: string;
  readonly roots: Roots;
  readonly limits: SnapshotLimits;
  readonly clock: () => number;
  baseline(root: string): Baseline;
}

export function createSessionSnapshots(deps: SessionDeps): SessionSnapshots {
  const { sessionId, directory, roots, limits, clock } = deps;
  const blobs = createBlobs(`${directory}/blobs`);
  const history = createHistory(directory, blobs, roots, limits);
  const place: Workplace = { roots, blobs, fileBytes: limits.fileBytes };
  const context: CaptureContext = { roots, blobs, limits, baseline: deps.baseline };
  /** Commands in progress of this session: how to end each. */
  const commands = new Map<() => Promise<void>, ReadonlyMap<Run, Baseline>>();
  let turn: OpenTurn | null = null;
  let ready = false;
  let queue: Promise<unknown> = Promise.resolve();
  /** What `beginTurn`, which cannot throw, ran into; the turn's next call throws it. */
  let failedBegin: unknown = null;

  function enqueue<T>(doing: string, work: () => Promise<T> | T, signal?: AbortSignal): Promise<T> {
    const result = queue.then(async () => {
      try {
        if (!ready) await takeUp();
        return await work();
      } catch (error) {
        throw signal?.aborted ? signal.reason : toSnapshotError(error, doing);
      }
    });
    queue = result.catch(() => {});
    return result;
  }

  /** What an earlier process left: an unfinished restore, an unfinished turn. */
  async function takeUp(): Promise<void> {
    const report = await recoverRestore(sessionId, directory, () => place);
    if (report?.result === "failed") throw new SnapshotError("io", report.message ?? "an undo is unfinished");
    if (report !== null) history.reload();
    const left = history.interrupted();
    if (left !== null) {
      for (const [root, startedAt] of left.running) {
        const known = roots.paths.includes(root) && (await resumeCommand(left, root, startedAt));
        if (!known) left.skip(root, "interrupted_command");
      }
      await finish(left);
    }
    ready = true;
  }

  function resumeCommand(left: OpenTurn, root: string, startedAt: number): Promise<boolean> {
    const baseline = deps.baseline(root);
    return baseline.resumeRun(startedAt, (run) => left.together(() => captureRun(left, run, baseline, blobs)));
  }

  async function finish(open: OpenTurn): Promise<Manifest | null> {
    return paced(history.ending(open, await captureAfter(open, context), clock()), createPacer());
  }

  function running(): OpenTurn {
    if (failedBegin !== null) throw failedBegin;
    if (turn === null) throw new SnapshotError("no_turn", "beginTurn was not called");
    return turn;
  }

  function abandon(runs: ReadonlyMap<Run, Baseline>): void {
    for (const [run, baseline] of runs) baseline.abandonRun(run);
  }

  async function finishCommands(): Promise<void> {
    for (const end of [...commands.keys()]) await end();
  }

  async function startCommand(signal?: AbortSignal): Promise<() => Promise<void>> {
    const open = running();
    const runs = new Map<Run, Baseline>();
    try {
      for (const root of roots.paths) {
        const baseline = deps.baseline(root);
        const run = await baseline.startRun(signal);
        runs.set(run, baseline);
        open.commandStarted(root, run.startedAt);
      }
    } catch (error) {
      abandon(runs);
      throw error;
    }
    const end = async () => {
      if (!commands.delete(end)) return;
      try {
        for (const [run, baseline] of runs) {
          await baseline.finishRun(run, () => open.together(() => captureRun(open, run, baseline, blobs)));
        }
      } finally {
        // Those that were not reached.
        abandon(runs);
      }
      if (commands.size === 0) for (const root of roots.paths) open.commandEnded(root);
    };
    commands.set(end, runs);
    return () => enqueue("looking for what a command changed", end);
  }

  async function go(direction: Direction, options: RestoreOptions): Promise<RestoreReport> {
    if (turn !== null) throw new SnapshotError("turn_running", `a turn is running; ${direction} when it has ended`);
    const { steps = 1, force = false, dryRun = false } = options;
    if (!Number.isSafeInteger(steps) || steps < 1) throw new SnapshotError("invalid_steps", "steps is 1 or more");
    const before = history.stack();
    const taken = next(before, direction, steps);
    const after = take(before, direction, taken.length);
    const plan = await makePlan(manifestsOf(taken), direction, force, place);
    let files = plan.outcomes;
    if (!dryRun && taken.length > 0) {
      try {
        files = await restore(directory, plan, { before, after }, place);
      } finally {
        history.reload();
      }
    }
    return {
      turns: taken.length,
      turnNumbers: taken.map((step) => step.turn),
      files,
      conflicts: files.filter((file) => file.outcome === "conflict").map((file) => file.path),
      remaining: after[direction].length,
    };
  }

  function manifestsOf(steps: readonly Step[]): Manifest[] {
    return steps.flatMap(({ snap }) => (snap === null ? [] : [history.manifest(snap)]));
  }

  /** Of what can be undone, oldest first. */
  const undoable = () => manifestsOf(history.stack().undo);

  function positionOf(snapId: string, manifests: readonly Manifest[]): number {
    const at = manifests.findIndex((manifest) => manifest.snap_id === snapId);
    if (at < 0) throw new SnapshotError("not_found", `no snapshot ${JSON.stringify(snapId)} on the undo stack`);
    return at;
  }

  function diffBetween(from: string | null, to: string | null): Promise<string> {
    const manifests = undoable();
    const first = from === null ? 0 : positionOf(from, manifests) + 1;
    const last = to === null ? manifests.length : positionOf(to, manifests) + 1;
    const pacer = createPacer();
    const look = async (path: string) => (await paced(lookingAt(path, place), pacer)).bytes;
    return diffAcross(manifests.slice(first, last), blobs, roots.cwd, to === null ? look : null);
  }

  return {
    beginTurn(number) {
      failedBegin = null;
      enqueue("starting a turn", async () => {
        await finishCommands();
        if (turn !== null) await finish(turn);
        turn = null;
        turn = history.begin(number);
      }).catch((error) => {
        failedBegin = error;
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
    willRun({ signal } = {}) {
      return enqueue("preparing for a command", () => startCommand(signal), signal);
    },
    endTurn() {
      return enqueue("ending a turn", async (): Promise<TurnSnapshot | null> => {
        const open = running();
        await finishCommands();
        const manifest = await finish(open);
        turn = null;
        return manifest === null ? null : snapshotOf(manifest);
      });
    },
    undo: (options = {}) => enqueue("undoing", () => go("undo", options)),
    redo: (options = {}) => enqueue("redoing", () => go("redo", options)),
    list: () => enqueue("listing snapshots", () => undoable().map(snapshotOf)),
    depth: () =>
      enqueue("reading the undo stack", () => {
        const { undo, redo } = history.stack();
        return { undo: undo.length, redo: redo.length };
      }),
    diff: (from, to) => enqueue("comparing snapshots", () => diffBetween(from, to)),
    edits: (snapId) => enqueue("comparing files", () => editsOf(history.manifest(snapId), blobs, roots.cwd)),
    drop() {
      return enqueue("forgetting a session", () => {
        turn = null;
        for (const runs of commands.values()) abandon(runs);
        commands.clear();
        if (existsSync(directory)) rmSync(directory, { recursive: true, force: true });
        history.reload();
      });
    },
  };
}
