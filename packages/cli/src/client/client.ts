/** A conversation's end of a session, in this process or on a server: read records by cursor, send commands. */
import { MODES, type Mode } from "@chimera/acp-schema/conversation";
import type { Decision, PromptBlock, SessionRecord } from "@chimera/acp-schema/events";
import type { Choice } from "../conversation/screen.js";
import { plainLine } from "../terminal/text.js";

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
  /** False when somebody else answered first. @param details the digest of what the person saw, and why they say no */
  answer(
    permissionId: string,
    decision: Decision,
    details?: { readonly shown?: string | undefined; readonly reason?: string | undefined },
  ): Promise<boolean>;
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

export interface FollowOptions {
  readonly from: number;
  readonly signal: AbortSignal;
  /** Called in order, once per record. */
  readonly onRecord: (record: SessionRecord) => void;
  /** How long a lost connection is tried again before this rejects; without it, until the signal aborts. */
  readonly patienceMs?: number;
  /** Told of trouble on the way that is being dealt with: a lost connection, a wait. */
  readonly onNotice: (text: string) => void;
}

export interface PaletteRow {
  readonly name: string;
  readonly description: string;
}

/** Sessions that a person is offered to go on with. */
export const MOST_OFFERED = 50;

const MODE_WORDS: Readonly<Record<Mode, string>> = {
  auto: "write files and run commands without asking",
  review: "ask before files are written and commands run",
  "read-only": "refuse writes and commands",
};

export function modeChoices(): Choice[] {
  return MODES.map((mode) => ({ value: mode, label: mode, description: MODE_WORDS[mode] }));
}

/** A session by what it is about. */
export function sessionChoice(
  id: string,
  about: { readonly title?: string | null; readonly prompt?: string | null },
): Choice {
  return { value: id, label: id, description: plainLine(about.title || about.prompt || "") };
}
