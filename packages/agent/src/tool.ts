/** The tool port: something that the model may call, what a call touches, and how it runs. */
import type { AgentContext, Touches, Workspace } from "@chimera/acp-schema/agent";
import type { AgentEvent, Location, ToolContent, ToolKind } from "@chimera/acp-schema/events";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { ProcessGroup } from "./tools/process-group.js";

/** A JSON Schema document, as the model and `GET /tools` see it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Any Standard Schema (valibot, zod, arktype …). Only its validation is used. */
export type InputSchema<I> = StandardSchemaV1<unknown, I>;

export interface Tool<I = unknown> {
  /** The name that the model and `GET /tools` see: `Read`, `Bash`, `search`, `mcp__server__tool`. */
  readonly name: string;
  /** Other names that call it, in any case: `read_file`, `Grep`. */
  readonly aliases: readonly string[];
  readonly description: string;
  /** Validates the model's arguments. The model gets a failure as text. */
  readonly input: InputSchema<I>;
  readonly inputSchema: JsonSchema;
  readonly kind: ToolKind;
  /** Whether a call may run side by side with its neighbours in a step. False for tools that change anything. */
  readonly parallel: boolean;
  /** Whether requests leave it out; the model then calls it through a forwarding tool. */
  readonly deferred?: boolean;
  /** Whether its arguments, `{name, arguments}`, name another tool that the loop then calls instead. */
  readonly forwards?: boolean;
  /** What a client must lend to the workspace; the tool is hidden where it is missing. @defaultValue nothing */
  readonly needs?: "terminal";
  describe(input: I, workspace: Workspace): ToolDescription;
  /** Shows what a call would change, for the person who is asked. Empty when the arguments show it already. Must not change anything. */
  preview?(input: I, context: Pick<ToolContext, "workspace" | "signal">): Promise<readonly ToolContent[]>;
  run(input: I, context: ToolContext): Promise<ToolOutcome>;
}

/** What a call is about to do, for people and for the policy. */
export interface ToolDescription {
  readonly title: string;
  readonly locations: readonly Location[];
  readonly touches: Touches;
}

export interface ToolContext {
  readonly callId: string;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
  /** The paths that the policy permits for this call. Without it, only paths in the workspace are permitted. */
  readonly permitted?: Touches;
  /** Emits an event while the tool runs: tool_progress, plan, terminal_output, file_edit, file_open, notice. */
  emit(event: AgentEvent): void;
  /** Saves the full text of an output that is too long for the model, and returns its path. Absent when the embedder saves none. */
  readonly spill?: ((name: string, text: string) => Promise<string>) | undefined;
  /** Asks the person; absent when no client could answer. */
  readonly question?: AgentContext["question"] | undefined;
  /** Lets another agent work on a task; absent without other agents. */
  readonly delegate?: ((task: Task) => Promise<ToolOutcome>) | undefined;
  /** The commands that continue after their call; absent when none may. */
  readonly jobs?: Jobs | undefined;
}

export interface Task {
  readonly callId: string;
  readonly prompt: string;
  /** The name of an agent definition. */
  readonly agent: string;
}

export interface ToolOutcome {
  readonly success: boolean;
  /** The text for the model. */
  readonly output: string;
  readonly error?: string;
  readonly content?: readonly ToolContent[];
  /** Pictures for models that can see. Other models get a sentence instead. */
  readonly images?: readonly ToolImage[];
}

export interface ToolImage {
  readonly mimeType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** Base64. */
  readonly data: string;
}

/** The types that every provider accepts. A refused picture would break every later request of the conversation. */
const PICTURE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** 5 MiB in base64, which is what the strictest provider counts. */
export const MAX_PICTURE_BYTES = (5 * 1024 * 1024 * 3) / 4;

export function isPicture(image: { readonly mimeType?: unknown; readonly data?: unknown }): image is ToolImage {
  const { mimeType, data } = image;
  if (typeof mimeType !== "string" || !PICTURE_TYPES.has(mimeType) || typeof data !== "string") return false;
  return data.length <= (MAX_PICTURE_BYTES * 4) / 3 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

/** The jobs of a session, as tools see them. A job is a command that continues after its call. */
export interface Jobs {
  readonly isFull: boolean;
  readonly all: readonly Job[];
  /** Makes a job of a running command. */
  adopt(command: RunningCommand): Job;
  /** Called when a turn begins: undo of the turn then covers changes by jobs. This stops automatically when the turn ends. */
  cover(turn: number, workspace: Pick<Workspace, "willRun">): Promise<void>;
  close(): Promise<void>;
}

export interface Job {
  readonly id: string;
  readonly command: string;
  /** `running`, or a text on how it ended. */
  readonly state: string;
  /** Returns the output since the last call. */
  read(): string;
  /** Returns false when the job accepts no input. */
  write(text: string): boolean;
  /** Resolves when the job ends, when the time is over, or when the signal aborts. */
  ended(ms: number, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

export interface RunningCommand {
  readonly callId: string;
  readonly command: string;
  readonly group: ProcessGroup;
  /** Sends further output to this function. */
  redirect(show: (stream: "stdout" | "stderr", text: string) => void): void;
  /** Called when the command and everything that it started have ended. */
  settle(failed: boolean): Promise<void>;
}
