/** A tool: what the model may call, what it touches, and how it runs. */
import type { AgentContext, Touches, Workspace } from "@chimera/acp-schema/agent";
import type { AgentEvent, Location, ToolContent, ToolKind } from "@chimera/acp-schema/events";
import type { ProcessGroup } from "./tools/process-group.js";

/** A JSON Schema document, as the model and `GET /tools` see it. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Any Standard Schema (valibot, zod, arktype …); only the validating half is used. */
export interface InputSchema<I> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    validate(value: unknown): InputResult<I> | Promise<InputResult<I>>;
  };
}

export type InputResult<I> =
  | { readonly value: I; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

export interface Tool<I = unknown> {
  /** As the model and `GET /tools` see it: `Read`, `Bash`, `search`, `mcp__server__tool`. */
  readonly name: string;
  /** Other names it answers to, in any case: `read_file`, `Grep`. */
  readonly aliases: readonly string[];
  readonly description: string;
  /** Validates the model's arguments; a failure goes back to the model as text. */
  readonly input: InputSchema<I>;
  readonly inputSchema: JsonSchema;
  readonly kind: ToolKind;
  /** Whether calls of one step may run side by side with their neighbours; tools that change things say false. */
  readonly parallel: boolean;
  /** Left out of requests, and called through a tool that forwards. */
  readonly deferred?: boolean;
  /** Whether a call of it, `{name, arguments}`, is a call of the tool that it names. */
  readonly forwards?: boolean;
  /** False where the workspace lacks what the tool needs: it is then not offered. Absent: always there. */
  available?(workspace: Workspace): boolean;
  describe(input: I, workspace: Workspace): ToolDescription;
  /** What a call would change, for people who are asked about it; nothing where its arguments say it all. Changes nothing. */
  preview?(input: I, context: Pick<ToolContext, "workspace" | "signal">): Promise<readonly ToolContent[]>;
  run(input: I, context: ToolContext): Promise<ToolOutcome>;
}

/** What a call is about to do, before it runs: shown to people and given to the policy. */
export interface ToolDescription {
  readonly title: string;
  readonly locations: readonly Location[];
  readonly touches: Touches;
}

export interface ToolContext {
  readonly callId: string;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
  /** What the policy let this call touch. Outside the workspace, a path runs only if it is one of these; absent: none. */
  readonly permitted?: Touches;
  /** Shows something while the tool runs: tool_progress, plan, terminal_output, file_edit, file_open, notice. */
  emit(event: AgentEvent): void;
  /** Keeps text that is too long for the model aside and returns where; absent when the embedder keeps nothing. */
  readonly spill?: (name: string, text: string) => Promise<string>;
  /** Asks the people; absent where nobody could answer. */
  readonly question?: AgentContext["question"];
  /** Has another agent work on something; absent where there is none. */
  readonly delegate?: (task: Task) => Promise<ToolOutcome>;
  /** What goes on in the session after its calls; absent where nothing may. */
  readonly jobs?: Jobs;
}

export interface Task {
  readonly callId: string;
  readonly prompt: string;
  /** The name of an agent definition. */
  readonly agent: string;
}

export interface ToolOutcome {
  readonly success: boolean;
  /** What the model reads. */
  readonly output: string;
  readonly error?: string;
  readonly content?: readonly ToolContent[];
  /** Pictures for models that see; others read that they cannot see them. */
  readonly images?: readonly ToolImage[];
}

export interface ToolImage {
  readonly mimeType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  /** Base64. */
  readonly data: string;
}

/** The pictures that every provider takes. One that is refused would spoil all requests of its conversation. */
const PICTURE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
/** In base64, where the strictest of them counts, these are 5 MiB. */
export const MAX_PICTURE_BYTES = (5 * 1024 * 1024 * 3) / 4;

export function isPicture(image: { readonly mimeType?: unknown; readonly data?: unknown }): image is ToolImage {
  const { mimeType, data } = image;
  if (typeof mimeType !== "string" || !PICTURE_TYPES.has(mimeType) || typeof data !== "string") return false;
  return data.length <= (MAX_PICTURE_BYTES * 4) / 3 && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

/** The jobs of one session, commands that go on after their call, as tools see them. */
export interface Jobs {
  readonly isFull: boolean;
  readonly all: readonly Job[];
  /** Takes over a command that runs. */
  adopt(command: RunningCommand): Job;
  /** Called when a turn begins: undo covers what its jobs change from then on. The end of the turn ends that by itself. */
  cover(turn: number, workspace: Pick<Workspace, "willRun">): Promise<void>;
  close(): Promise<void>;
}

export interface Job {
  readonly id: string;
  readonly command: string;
  /** `running`, or how it ended. */
  readonly state: string;
  /** What it has written since the last call. */
  read(): string;
  /** False when it takes no input. */
  write(text: string): boolean;
  /** Resolves when it has ended, or the time or the caller's patience is over. */
  ended(ms: number, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

export interface RunningCommand {
  readonly callId: string;
  readonly command: string;
  readonly group: ProcessGroup;
  /** From now on output goes to this function. */
  redirect(show: (stream: "stdout" | "stderr", text: string) => void): void;
  /** Called once it has ended and what it left is gone. */
  settle(failed: boolean): Promise<void>;
}
