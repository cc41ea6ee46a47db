/**
 * Runs the turns of one session: finds out whether a prompt is a command and who answers it, gives the agent its workspace, and
 * keeps what the turn did to files for undo.
 */
import type { SessionSnapshots } from "@chimera/snapshot-store";
import type { Agent, McpServer } from "./agent-port.js";
import type { Journal } from "./journal.js";
import type { PermissionBroker } from "./permissions.js";
import type { Place } from "./recorder.js";
import { type OwnTurn, runTurn } from "./run-turn.js";
import type { ResolvedCommand } from "./session.js";
import type { Settings } from "./settings.js";
import type { QueuedTurn, TurnQueue } from "./turn-queue.js";
import { type ClientEffects, composeWorkspace, type Files } from "./workspace.js";

export function createTurnRunner(deps: {
  readonly sessionId: string;
  readonly cwd: string;
  readonly directories: readonly string[];
  readonly agent: Agent;
  /** Undefined when the text is not a command. */
  readonly resolve: (text: string) => Promise<ResolvedCommand | undefined>;
  readonly journal: Journal;
  /** Resolves when the log holds what it was given so far, and its readers have it. */
  readonly written: () => Promise<void>;
  readonly broker: PermissionBroker;
  readonly queue: () => Pick<TurnQueue, "current" | "busy" | "abort">;
  readonly settings: () => Settings;
  readonly mcpServers: () => readonly McpServer[];
  readonly snapshots: SessionSnapshots | null;
  readonly disk: Files;
  /** Of the attached client that lends any. */
  readonly effects: () => ClientEffects | undefined;
  readonly owner: OwnTurn;
  readonly onError: (error: unknown) => void;
}): (next: QueuedTurn, signal: AbortSignal) => Promise<void> {
  const { sessionId, journal, broker, queue, snapshots } = deps;
  const { recorder } = journal;
  /** Of the turn that runs. */
  let turnSignal: AbortSignal | undefined;
  const warn = (text: string, place: Place) =>
    recorder.write({ type: "notice", metadata: { level: "warning", text } }, place);

  const workspace = composeWorkspace({
    cwd: deps.cwd,
    directories: deps.directories,
    disk: deps.disk,
    client: deps.effects,
    signal: () => turnSignal,
    onClientLost() {
      const now = "files are read from and written to the disk now";
      warn(`the editor that answered for unsaved files is gone: ${now}`, { turn: queue().current });
    },
    watch: {
      willWrite: async (path) => snapshots?.willWrite(path),
      willRun: async () => (await snapshots?.willRun({ signal: turnSignal })) ?? (async () => {}),
    },
  });

  /** A command that cannot be carried out is a turn that ends with the reason. */
  const commandOf = async (text: string): Promise<ResolvedCommand | undefined> => {
    if (!text.startsWith("/")) return undefined;
    try {
      return await deps.resolve(text);
    } catch (error) {
      return {
        agent: () => {
          throw error;
        },
      };
    }
  };

  /** Undo that cannot be kept costs the undo of this turn, not the turn. */
  const keepSnapshot = async (place: Place): Promise<void> => {
    try {
      await snapshots?.endTurn(journal.history.reachable());
    } catch (error) {
      deps.onError(error);
      const reason = error instanceof Error ? error.message : String(error);
      warn(`what this turn changed cannot be undone: ${reason}`, place);
    }
  };

  return async (next, signal) => {
    const place: Place = { turn: next.turn, origin: next.origin };
    turnSignal = signal;
    journal.settle(queue().busy());
    const command = await commandOf(next.prompt.text);
    const answering = command && "agent" in command ? command.agent : undefined;
    const { history } = journal;
    const settings = deps.settings();
    if (!answering) snapshots?.beginTurn(next.turn);
    await runTurn({
      agent: answering ?? deps.agent,
      turn: {
        sessionId,
        number: next.turn,
        prompt: command && "prompt" in command ? { ...next.prompt, text: command.prompt } : next.prompt,
        history: history.messages(next.turn),
        seen: history.seen(next.turn),
        ...(command && "compact" in command && { compact: command.compact }),
        settings: { ...settings, mcpServers: deps.mcpServers(), spentUsd: history.facts.usage?.total_usd ?? 0 },
      },
      context: { workspace, signal, ask: (request) => broker.ask(request, place), flags: deps.settings },
      history,
      recorder,
      place,
      owner: deps.owner,
      abort: () => queue().abort(),
      settle: async () => {
        broker.release("cancel");
        try {
          // What was said goes out before the work of ending the turn.
          await deps.written();
        } finally {
          // Also when the log cannot take it: the files are changed.
          if (!answering) await keepSnapshot(place);
        }
      },
    });
  };
}
