/** A conversation's end of a session, in this process or on a server: read records by cursor, send commands. */
import { MODES, type Mode } from "@chimera/acp-schema/conversation";
import type { Decision, PromptBlock, SessionRecord } from "@chimera/acp-schema/events";
import type { SummaryState } from "@chimera/acp-schema/summary";
import { startOf } from "@chimera/acp-schema/text";
import type { Choice } from "../conversation/screen.js";
import { localTime, plainLine } from "../terminal/text.js";

export interface SessionClient {
  readonly id: string;
  /** Where the session works; null when the server does not say. */
  readonly cwd: string | null;
  /** Null when the server does not say. */
  readonly model: string | null;
  /** The address of the server it runs in; null when that is this process. */
  readonly server: string | null;
  /** Whether it outlives the process it runs in. */
  readonly persistent: boolean;
  /** The number of the last record when the session was opened: what comes up to it has happened before. */
  readonly head: number;
  /** Reads records after `from` until the signal aborts. Rejects when the session can no longer be read. */
  follow(options: FollowOptions): Promise<void>;
  /** Resolves to the number of the turn that will answer it. */
  prompt(input: { readonly text: string; readonly content?: readonly PromptBlock[] }): Promise<number>;
  /** Ends the running turn; nothing when none runs. */
  cancel(): Promise<void>;
  /** What is answered to a question of the agent; null: nothing. Somebody else may have been faster. */
  answerQuestion(questionId: string, answer: string | null): Promise<void>;
  /** False when somebody else answered first. @param shown the digest of what the person saw */
  answer(permissionId: string, answer: PermissionAnswer, shown?: string): Promise<boolean>;
  /** What the session works with now. */
  settings(): Promise<{ readonly model: string; readonly mode: string; readonly agent: string }>;
  /** What each setting can be, and the sessions that can be opened in this one's place. */
  choices(of: "model" | "mode" | "agent" | "session"): Promise<readonly Choice[]>;
  /** Slash commands this session knows. */
  commands(): Promise<readonly PaletteRow[]>;
  /** Forgets what undo would restore files from, unless somebody else may still be at work: a turn, a server's other clients. */
  forgetFiles(): Promise<void>;
  close(): Promise<void>;
}

/** What a person says to a question: one of the four, or one of the answers that the question itself offers; a no may have a reason. */
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
  /** How long a lost connection is tried again before this rejects; without it, until the signal aborts. */
  readonly patienceMs?: number;
  /** Called with trouble that the client handles itself: a lost connection, a wait. */
  readonly onNotice: (text: string) => void;
}

export interface PaletteRow {
  readonly name: string;
  readonly description: string;
}

/** Sessions that a person is offered to go on with. */
export const MOST_OFFERED = 50;

export const MODE_WORDS: Readonly<Record<Mode, string>> = {
  auto: "write files and run commands without asking",
  review: "ask before files are written and commands run",
  "read-only": "refuse writes and commands",
};

export function modeChoices(): Choice[] {
  return MODES.map((mode) => ({ value: mode, label: mode, description: MODE_WORDS[mode] }));
}

/** A session by what it is about, when it began and what it does. */
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
