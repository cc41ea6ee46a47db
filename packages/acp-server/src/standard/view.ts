/** One session as standard ACP shows it. */
import type { ClientCapabilities, SessionUpdate } from "@chimera/acp-schema";
import type { SessionEvent, SessionRecord } from "@chimera/acp-schema/events";
import type { Entry } from "@chimera/event-store";
import type { Connection } from "@chimera/ndjson-rpc";
import type { Session } from "@chimera/session";
import { type ClientShows, projectAcp } from "../project/acp.js";
import { encodedText } from "../project/delta.js";
import { lossFrames } from "../project/loss.js";
import { stopReasonOf, turnFailure } from "../turn-outcome.js";
import type { SessionView } from "../view.js";
import { clientEffects } from "./client-effects.js";
import { createPermissionPrompts } from "./permission.js";
import { configOptions, type SettingsShown } from "./settings.js";

const CHUNKS = { text_delta: "agent_message_chunk", thought_delta: "agent_thought_chunk" } as const;
const CONFIG_RECORDS = new Set(["mode_changed", "model_changed", "config_changed", "approval_changed"]);
/** What v1 knows as an end of a turn; an error is not among them and becomes the reply's error. */
const STOP_REASONS = new Set(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]);

export interface StandardViewDeps {
  readonly connection: Connection;
  readonly capabilities: ClientCapabilities;
  readonly shown: SettingsShown;
  readonly origin: string | undefined;
}

export function standardView(session: Session, deps: StandardViewDeps): SessionView {
  const { connection, capabilities, shown } = deps;
  const shows = clientShows(capabilities);
  const head = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":${JSON.stringify(session.id)},`;
  const hot = {
    text_delta: hotHead(head, CHUNKS.text_delta),
    thought_delta: hotHead(head, CHUNKS.thought_delta),
  };
  const prompts = createPermissionPrompts(connection, session, deps.origin);
  const effects = clientEffects(connection, session.id, capabilities);

  for (const permission of session.openPermissions.values()) prompts.ask(permission);

  return {
    ...(effects && { effects }),
    frames(entry, own) {
      if (entry.type === "text_delta" || entry.type === "thought_delta") {
        return [`${hot[entry.type]}${encodedText(entry.line)}}},"_meta":{"chimera.dev/eventId":${entry.seq}}}}`];
      }
      if (own && entry.type === "user_message") return [];
      return frameUpdates(head, entry.event, updatesOf(entry));
    },
    lost: (damage) => lossFrames(session.id, damage, shows.notices),
    after(entry) {
      if (entry.type === "permission_request") {
        const permission = session.openPermissions.get((entry.event as PermissionRecord).metadata.permission_id);
        if (permission) prompts.ask(permission);
      } else if (entry.type === "permission_resolved") {
        prompts.withdraw((entry.event as PermissionRecord).metadata.permission_id);
      }
    },
    answer(turn) {
      const state = session.history.turns[turn];
      const stopReason = stopReasonOf(state);
      if (!STOP_REASONS.has(stopReason)) return { error: turnFailure(state) };
      const { input = 0, output = 0, cache = 0, reasoning = 0 } = state?.usage ?? {};
      const usage = {
        totalTokens: input + output + cache,
        inputTokens: input,
        outputTokens: output,
        thoughtTokens: reasoning,
        cachedReadTokens: cache,
      };
      return { result: { stopReason, usage } };
    },
    close: prompts.close,
  };

  function updatesOf(entry: Entry<SessionEvent>): SessionUpdate[] {
    const updates = projectAcp(entry.event, shows);
    if (!CONFIG_RECORDS.has(entry.type)) return updates;
    // A flag may amount to another mode.
    if (entry.type === "config_changed")
      updates.push({ sessionUpdate: "current_mode_update", currentModeId: session.mode });
    return [...updates, { sessionUpdate: "config_option_update", configOptions: configOptions(session, shown) }];
  }
}

/** The frames of a record on replay: the same updates, without the side effects. */
export function replayFrames(sessionId: string, record: SessionRecord, capabilities: ClientCapabilities): string[] {
  const head = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":${JSON.stringify(sessionId)},`;
  return frameUpdates(head, record, projectAcp(record, clientShows(capabilities)));
}

/** What a client with these capabilities shows. */
export function clientShows({ session }: ClientCapabilities): ClientShows {
  return { notices: session?.notices != null, compaction: session?.compaction != null };
}

// --- internal ---

type PermissionRecord = Extract<SessionRecord, { type: "permission_request" | "permission_resolved" }>;

function hotHead(head: string, sessionUpdate: string): string {
  return `${head}"update":{"sessionUpdate":"${sessionUpdate}","content":{"type":"text","text":`;
}

function frameUpdates(head: string, { seq, origin }: SessionRecord, updates: readonly SessionUpdate[]): string[] {
  const meta = JSON.stringify({
    "chimera.dev/eventId": seq,
    ...(origin !== undefined && { "chimera.dev/origin": origin }),
  });
  return updates.map((update) => `${head}"update":${JSON.stringify(update)},"_meta":${meta}}}`);
}
