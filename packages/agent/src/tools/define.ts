/** Makes a tool from its parts: derives the JSON Schema, turns errors into results, and limits the length of outputs. */
import type { Touches } from "@chimera/acp-schema/agent";
import type { AgentEvent } from "@chimera/acp-schema/events";
import { endOf, startOf, visible } from "@chimera/acp-schema/text";
import { toJsonSchema } from "@valibot/to-json-schema";
import type * as v from "valibot";
import { AgentError, isAgentError } from "../errors.js";
import { type RealPath, type Roots, resolvePath } from "../files/real-path.js";
import type { JsonSchema, Tool, ToolContext, ToolDescription, ToolOutcome } from "../tool.js";

export type ToolParts<I> = Omit<Tool<I>, "input" | "inputSchema" | "aliases"> & {
  readonly aliases?: readonly string[];
  readonly input: v.GenericSchema<unknown, I>;
};

/**
 * Makes a tool whose errors become results: `run` rejects only when aborted. Reading `inputSchema` throws if the input has none.
 *
 * @example
 * const clock = defineTool({
 *   name: "clock",
 *   description: "Says what time it is.",
 *   kind: "read",
 *   parallel: true,
 *   input: v.object({}),
 *   describe: () => ({ title: "clock", locations: [], touches: { reads: [], writes: [] } }),
 *   run: async () => ({ success: true, output: new Date().toISOString() }),
 * });
 */
export function defineTool<I>(parts: ToolParts<I>): Tool<I> {
  return {
    ...parts,
    aliases: parts.aliases ?? [],
    // Computed when the first request needs it, because most commands of the program never ask a model. Then it is a plain property.
    get inputSchema() {
      const value = jsonSchemaOf(parts.input);
      Object.defineProperty(this, "inputSchema", { value, enumerable: true });
      return value;
    },
    run: async (input, context) => {
      context.signal.throwIfAborted();
      try {
        return await parts.run(input, context);
      } catch (error) {
        if (context.signal.aborted) throw error;
        return failure(readable(error));
      }
    },
  };
}

export function failure(message: string): ToolOutcome {
  return { success: false, output: message, error: message };
}

/** The real path of an argument. Throws unless the policy permitted it or, without a policy, unless it is in the workspace. */
export function locate(input: string, context: ToolContext, access: "reads" | "writes"): RealPath {
  const found = resolvePath(input, context.workspace);
  const allowed = context.permitted ? context.permitted[access].includes(found.path) : found.inside;
  if (!allowed) throw new AgentError("path_outside", `${input} is outside the workspace (${found.path}).`);
  return found;
}

/** Describes a call on one file. Throws for an impossible path, so that no person is asked about it. */
export function describeFile(verb: string, input: string, roots: Roots, access: "reads" | "writes", line?: number) {
  const { path, shown } = resolvePath(input, roots);
  const touches: Touches = { reads: [path], writes: access === "writes" ? [path] : [] };
  return { title: `${verb} ${shown}`, locations: [line === undefined ? { path } : { path, line }], touches };
}

/** A command on one line. Counts the characters that it leaves out, so that the person knows about a hidden tail. */
export function titleOf(command: string): string {
  const line = startOf(command.split("\n", 1)[0] ?? "", 120);
  const left = command.length - line.length;
  return left > 0 ? `${visible(line)} … (${left} more characters)` : visible(line);
}

/** Describes a call that touches no file. */
export function describeCall(title: string): ToolDescription {
  return { title: startOf(title, 120), locations: [], touches: { reads: [], writes: [] } };
}

export function progress(context: ToolContext, stream: "stdout" | "stderr", chunk: string): void {
  context.emit({ type: "tool_progress", metadata: { call_id: context.callId, stream, chunk } } satisfies AgentEvent);
}

/** Most characters of a result that reach the model. */
export const MAX_OUTPUT = 30_000;

const HEAD = 10_000;

/** Shortens a text to {@link MAX_OUTPUT}: keeps its beginning and end with a notice, and saves the full text if it can. */
export async function capOutput(text: string, context: ToolContext): Promise<string> {
  if (text.length <= MAX_OUTPUT) return text;
  const kept = await context.spill?.(context.callId, text).catch(() => undefined);
  const where = kept === undefined ? "" : `; the full text is in ${kept}, for Read and search`;
  const notice = `\n\n[output truncated: ${text.length} characters, the middle left out${where}]\n\n`;
  return startOf(text, HEAD) + notice + endOf(text, MAX_OUTPUT - HEAD - notice.length);
}

// --- internal ---

function jsonSchemaOf(input: v.GenericSchema): JsonSchema {
  const { $schema: _, ...schema } = toJsonSchema(input) as JsonSchema;
  return schema;
}

const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: "No such file or directory",
  EACCES: "Permission denied",
  EPERM: "Operation not permitted",
  EISDIR: "It is a directory",
  ENOTDIR: "A part of the path is a file",
  ENOSPC: "The disk is full",
  EROFS: "The file system is read-only",
  EMFILE: "Too many open files",
};

function readable(error: unknown): string {
  if (isAgentError(error)) return error.message;
  const { code, path, message } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : SYSTEM_ERRORS[code];
  if (known === undefined) return message ?? String(error);
  return path === undefined || path.startsWith("/proc/self/fd/") ? `${known}.` : `${known}: ${path}`;
}
