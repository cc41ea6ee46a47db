/** A session as a conversation uses it, in this process or on a server: reads records from a cursor and sends commands. */
import { MODES, type Mode } from "@chimera/acp-schema/conversation";
import type { Decision, PromptBlock, SessionRecord } from "@chimera/acp-schema/events";
import type { SummaryState } from "@chimera/acp-schema/summary";
import { startOf } from "@chimera/acp-schema/text";
import type { Choice } from "../conversation/screen.js";
import { localTime, plainLine } from "../terminal/text.js";

export interface SessionClient {
  readonly id: string;
  /** The session's directory; null when the server does not say. */
  readonly cwd: string | null;
  /** Null when the server does not say. */
  readonly model: string | null;
  /** The address of the server that runs the session; null when it runs in this process. */
  readonly server: string | null;
  /** Whether the session outlives its process. */
  readonly persistent: boolean;
  /** The number of the last record when the session was opened. Records up to it belong to the past. */
  readonly head: number;
  /** Reads records after `from` until the signal aborts. Rejects when the session can no longer be read. */
  follow(options: FollowOptions): Promise<void>;
  /** Resolves to the number of the turn that will answer the prompt. */
  prompt(input: { readonly text: string; readonly content?: readonly PromptBlock[] }): Promise<number>;
  /** Cancels the running turn, if there is one. */
  cancel(): Promise<void>;
  /** Answers a question of the agent; null means no answer. Ignored when another client has answered first. */
  answerQuestion(questionId: string, answer: string | null): Promise<void>;
  /** Returns false when another client answered first. @param shown the digest of what the person saw */
  answer(permissionId: string, answer: PermissionAnswer, shown?: string): Promise<boolean>;
  /** The session's present settings. */
  settings(): Promise<{ readonly model: string; readonly mode: string; readonly agent: string }>;
  /** The possible values of a setting, or the other sessions that can be opened. */
  choices(of: "model" | "mode" | "agent" | "session"): Promise<readonly Choice[]>;
  /** The session's slash commands. */
  commands(): Promise<readonly PaletteRow[]>;
  /** Drops the files that undo would restore, unless they may still be needed: during a turn, or by other clients of a server. */
  forgetFiles(): Promise<void>;
  close(): Promise<void>;
}

/** A person's answer to a permission request: a decision, perhaps with one of the request's own choices or with a reason for a no. */
export interface PermissionAnswer {
  readonly decision: Decision;
  readonly choice?: string;
  readonly reason?: string;
}

export interface FollowOptions {
  readonly from: number;
  readonly signal: AbortSignal;
  /** Called in order, once per record. */
  readonly onRecord: (record: SessionRecord) => void;
  /** How long to retry a lost connection before this rejects. @defaultValue until the signal aborts */
  readonly patienceMs?: number;
  /** Called with problems that the client handles itself, such as a lost connection. */
  readonly onNotice: (text: string) => void;
}

export interface PaletteRow {
  readonly name: string;
  readonly description: string;
}

/** Most sessions that a person can choose from. */
export const MOST_OFFERED = 50;

export const MODE_WORDS: Readonly<Record<Mode, string>> = {
  auto: "write files and run commands without asking",
  review: "ask before files are written and commands run",
  "read-only": "refuse writes and commands",
};

export function modeChoices(): Choice[] {
  return MODES.map((mode) => ({ value: mode, label: mode, description: MODE_WORDS[mode] }));
}

/** Shows a session by its prompt or title, its start and its state. */
export function sessionChoice(
  id: string,
  about: {
    readonly title: string | null;
    readonly prompt: string | null;
    readonly started_at: string | null;
    readonly state: SummaryState;
  },
): Choice {
  const { title, prompt, started_at, state } = about;
  const facts = [localTime(started_at), ...(state === "idle" ? [] : [state]), id.slice(-8)];
  return { value: id, label: startOf(plainLine(prompt || title || id), 44), description: facts.join(" · ") };
}
