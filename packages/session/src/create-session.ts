/** Makes one session: its readable state, the commands of clients, and the methods of the program that holds it. */
import { type ChangedSettings, modeOf } from "@chimera/acp-schema/conversation";
import { withResolvers } from "@chimera/acp-schema/promises";
import type { Direction } from "@chimera/snapshot-store";
import { createEngineMemory } from "./engine-memory.js";
import { namedError, SessionError } from "./errors.js";
import type { Journal } from "./journal.js";
import { PERMISSION, QUESTION } from "./kinds-of-question.js";
import { endOf } from "./loaded.js";
import { acceptPrompt, type PromptDeps } from "./prompt.js";
import type { RewindOptions } from "./rewind.js";
import type { OwnedSession, ReadableSession, Session } from "./session.js";
import { createParts, type Parts, type SessionBirth, type SessionDeps } from "./session-parts.js";
import { changeEvents, type SettingChange } from "./settings.js";
import { denials, NEVER_RAN } from "./turn-run.js";
import { composeWorkspace } from "./workspace.js";

export function createSession(deps: SessionDeps, birth: SessionBirth): OwnedSession {
  const parts = createParts(deps, birth);
  const { journal, queue, writer } = parts;
  const view = viewOf(parts);
  const session: OwnedSession = Object.assign(
    view,
    commandsOf(parts, view, () => session),
    ownerMethodsOf(parts),
  );
  void journal.interrupted(new Error("the process ended before the turn did"));
  try {
    journal.endInterrupted(queue.busy());
    endLeftovers(journal);
  } catch (error) {
    // The next write that succeeds ends them.
    deps.onError(error, writer.id);
  }
  return session;
}

// --- internal ---

/** The state that only the program that holds the session sees. */
type Standing = "idleMs" | "attended" | "isReadOnly" | "isLetGo" | "origin";

function viewOf(parts: Parts): ReadableSession & Pick<OwnedSession, Standing> {
  const { birth, writer, journal, queue, settings, activity, snapshots, summary } = parts;
  return {
    id: writer.id,
    cwd: birth.cwd,
    directories: birth.directories,
    createdAt: birth.createdAt,
    persistent: birth.persistent,
    owner: birth.owner ?? null,
    isReadOnly: false,
    snapshots: snapshots && {
      drop: snapshots.drop,
      edits: snapshots.edits,
      async list() {
        const { turns } = journal.conversation;
        return (await snapshots.list()).filter(({ turn }) => !turns[turn]?.filesUndone);
      },
    },
    summary,
    get conversation() {
      return journal.conversation;
    },
    get touchedAt() {
      return activity.touchedAt;
    },
    get idleMs() {
      // An undo may take long, and writes its record at its end.
      return queue.isAlone ? 0 : activity.idleMs;
    },
    get isLetGo() {
      return writer.isLetGo;
    },
    origin: writer.origin,
    get attended() {
      return parts.attachments.isAttended;
    },
    get state() {
      // A turn has ended for its readers once they have its last record, though that may not be durable yet.
      const { turns } = journal.conversation;
      if ([...queue.busy()].every((turn) => turns[turn]?.ended)) return "idle";
      return queue.current?.cancelled ? "cancelled" : "running";
    },
    get queued() {
      return queue.waiting.length;
    },
    get settings() {
      return settings();
    },
    get mode() {
      return modeOf(settings());
    },
    get title() {
      return journal.conversation.facts.title;
    },
    get isShared() {
      return journal.conversation.facts.isShared;
    },
    get lastSeq() {
      return writer.lastSeq;
    },
    get openPermissions() {
      return journal.conversation.openPermissions;
    },
    get openQuestions() {
      return journal.conversation.openQuestions;
    },
  };
}

type Commands = Omit<Session, keyof ReadableSession> & Pick<OwnedSession, "prompt">;

function commandsOf(parts: Parts, view: ReadableSession, session: () => Session): Commands {
  const { writer, journal, queue, broker, activity, change } = parts;
  const requireOpen = () => {
    if (parts.end.closing || writer.isLetGo)
      throw new SessionError("session_closed", `session ${view.id} is closed; load it again`);
  };
  const promptDeps = promptDepsOf(parts, session);
  const rewindAlone = async (direction: Direction, options?: RewindOptions) => {
    requireOpen();
    if (view.state !== "idle")
      throw new SessionError("turn_running", `cannot ${direction} while a turn runs; cancel it or wait for it`);
    return queue.alone(async () => {
      journal.requireSound();
      return parts.rewind(direction, options).catch((error) => {
        throw namedError(error, view.id);
      });
    });
  };
  const set: Session["set"] = async (changes, origin) => {
    requireOpen();
    await applySettings(parts, [changes].flat(), origin);
  };
  return {
    prompt(input) {
      requireOpen();
      return acceptPrompt(promptDeps, input);
    },
    async cancel(turn = queue.current?.turn) {
      activity.touch();
      if (turn === undefined || journal.conversation.turns[turn]?.ended) return false;
      if (queue.current?.turn === turn) {
        if (!queue.cancel()) return false;
        broker.release("cancel");
        return true;
      }
      if (!queue.waiting.includes(turn)) return false;
      const durable = journal.accept(NEVER_RAN, { turn });
      queue.forget((waiting) => waiting === turn);
      await durable;
      return true;
    },
    answer(permissionId, answer, origin, shown) {
      activity.touch();
      return broker.answer(PERMISSION, permissionId, answer, { origin, shown });
    },
    answerQuestion(questionId, answer, origin) {
      activity.touch();
      return broker.answer(QUESTION, questionId, answer, { origin });
    },
    set,
    setTitle: (title, origin) => set({ title }, origin),
    share: (shared, origin) => set({ shared }, origin),
    async notify(level, text) {
      requireOpen();
      await change({ type: "notice", metadata: { level, text } });
    },
    async clear(origin) {
      requireOpen();
      await change({ type: "cleared", metadata: {} }, origin);
    },
    undo: (options) => rewindAlone("undo", options),
    redo: (options) => rewindAlone("redo", options),
    durable: journal.durable,
    idle: queue.idle,
  };
}

async function applySettings(parts: Parts, changes: readonly SettingChange[], origin?: string): Promise<void> {
  const events = changeEvents(changes, parts.settings());
  if (events.length === 0) return;
  const durable = parts.change(events, origin);
  // A title is not a setting: it describes the conversation.
  for (const event of events) if (event.type !== "title_changed") parts.onSetting(event, parts.writer.id);
  // Other processes see the title and sharing in their lists, which are made of summaries.
  const isListed = changes.some((change) => "title" in change || "shared" in change);
  await Promise.all([durable, isListed && parts.saveSummary()]);
}

function promptDepsOf(parts: Parts, session: () => Session): PromptDeps {
  const { writer, journal, queue, birth, attachments, snapshots, rewind } = parts;
  const signal = () => queue.current?.signal;
  const warn = (text: string): void => {
    journal.recorder.write(
      { type: "notice", metadata: { level: "warning", text } },
      { turn: queue.current?.turn ?? null },
    );
  };
  const uncovered = new Map<string, string>();
  const onUncovered = (root: string, reason: keyof typeof UNCOVERED): void => {
    if (uncovered.get(root) === reason) return;
    uncovered.set(root, reason);
    warn(`undo covers only a part of ${root}: ${UNCOVERED[reason]}. Changes by commands in the rest cannot be undone.`);
  };
  return {
    ...parts,
    approveEdits: () => applySettings(parts, [{ option: "auto_approve_writes", value: true }]),
    sessionId: writer.id,
    mcpServers: attachments.mcpServers,
    resolve: (prompt) => parts.resolveCommand(session(), prompt, rewind),
    onError: (error) => parts.onError(error, writer.id),
    memory: createEngineMemory(parts),
    workspace: composeWorkspace({
      cwd: birth.cwd,
      directories: birth.directories,
      disk: parts.disk,
      client: attachments.newestEffects,
      signal,
      onClientLost: () =>
        warn("the editor that answered for unsaved files is gone: files are read from and written to the disk now"),
      watch: {
        // Checked last, right before the write: a process that has lost the session meanwhile must not change a file.
        async willWrite(path) {
          await snapshots?.willWrite(path);
          writer.requireHeld();
        },
        async willRun(_command, options) {
          const asked = { ...options, signal: signal(), onUncovered };
          const ended = (await snapshots?.willRun(asked)) ?? (async () => []);
          writer.requireHeld();
          return ended;
        },
      },
    }),
  };
}

const UNCOVERED = {
  time_limit: "it takes too long to read at once, and the next commands continue",
  quota: "it has too many files, or too large ones",
} as const;

type OwnerMethods = Omit<OwnedSession, keyof Session | Standing>;

function ownerMethodsOf(parts: Parts): OwnerMethods {
  const { activity, end } = parts;
  const { promise: ended, resolve: announceEnd } = withResolvers();
  return {
    made: parts.birth.made,
    touch: activity.touch,
    record: async (event, origin) => parts.change(event, origin),
    async letGo() {
      const { lastSeq } = parts.writer;
      await parts.saveSummary();
      // Meanwhile a prompt or an undo may have come, or a record that is not in the summary.
      if (parts.queue.busy().size > 0 || parts.queue.isAlone || parts.writer.lastSeq > lastSeq) return false;
      await parts.writer.letGo();
      return true;
    },
    takeUp(writer) {
      if (endOf(parts.writer) !== endOf(writer)) return false;
      parts.writer.takeUp(writer);
      activity.touch();
      return true;
    },
    ended,
    close(by, { reset } = { reset: false }) {
      end.closing ??= shut(parts, by, reset).finally(announceEnd);
      return end.closing;
    },
  };
}

async function shut(parts: Parts, by: "cancel" | "eviction", reset: boolean): Promise<void> {
  const { queue, broker, journal, writer } = parts;
  const dropped = queue.stop();
  broker.release(by);
  await queue.idle();
  // Write nothing: another process may hold the log.
  if (writer.isLetGo) return parts.attachments.onDeserted(null);
  try {
    journal.endInterrupted(new Set());
    // Leave out prompts that `endInterrupted` has just ended, and those that never reached the log.
    const left = dropped.filter((turn) => journal.conversation.turns[turn]?.ended === false);
    for (const turn of left) journal.recorder.write(NEVER_RAN, { turn });
    endLeftovers(journal);
    if (reset && isChanged(journal.conversation.settings))
      journal.recorder.write({ type: "settings_reset", metadata: {} }, { turn: null });
    await parts.saveSummary();
  } catch (error) {
    // The next load records the ends that could not be recorded here.
    parts.onError(error, writer.id);
  } finally {
    parts.end.isClosed = true;
    // Clients stay attached. Their listener would keep the unloaded session in memory.
    parts.attachments.onDeserted(null);
    await writer.close();
  }
}

/** Records the end of jobs, which end with their session, and of questions, which end with their turn. Needed above all after a crash. */
function endLeftovers({ conversation, recorder }: Journal): void {
  const jobs = [...conversation.openJobs.keys()].map(
    (job_id) => ({ type: "job_ended", metadata: { job_id, exit_code: null, by: "session" } }) as const,
  );
  const ended = [...denials(conversation), ...jobs];
  if (ended.length > 0) recorder.writeAll(ended, { turn: null });
}

/** Whether flags or options were changed since the session was made. */
function isChanged({ options, model: _model, agent: _agent, ...flags }: ChangedSettings): boolean {
  return Object.keys(options).length > 0 || Object.keys(flags).length > 0;
}
