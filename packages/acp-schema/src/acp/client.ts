/** The methods with which a client serves the agent: files and terminals. */
import * as v from "valibot";
import { list, maybe, object, uint32, uint64 } from "../define/shape.js";
import { SessionId, TerminalId } from "./id.js";

// Files through the client, including unsaved buffers. Paths are absolute.

export const ReadTextFileRequest = object(() => ({
  sessionId: SessionId,
  path: v.string(),
  /** 1-based. */
  line: v.nullish(uint32()),
  limit: v.nullish(uint32()),
}));

export const ReadTextFileResponse = object(() => ({ content: v.string() }));

export const WriteTextFileRequest = object(() => ({
  sessionId: SessionId,
  path: v.string(),
  content: v.string(),
}));

export const WriteTextFileResponse = object(() => ({}));

// Commands in a terminal that the client owns.

export const EnvVariable = object(() => ({ name: v.string(), value: v.string() }));
export type EnvVariable = v.InferOutput<typeof EnvVariable>;

export const CreateTerminalRequest = object(() => ({
  sessionId: SessionId,
  command: v.string(),
  args: v.optional(list(v.string())),
  env: v.optional(list(EnvVariable)),
  cwd: v.nullish(v.string()),
  outputByteLimit: v.nullish(uint64()),
}));

export const CreateTerminalResponse = object(() => ({ terminalId: TerminalId }));
export const TerminalOutputRequest = object(() => ({ sessionId: SessionId, terminalId: TerminalId }));

export const TerminalExitStatus = object(() => ({ exitCode: maybe(uint32()), signal: maybe(v.string()) }));
export type TerminalExitStatus = v.InferOutput<typeof TerminalExitStatus>;

export const TerminalOutputResponse = object(() => ({
  output: v.string(),
  truncated: v.boolean(),
  exitStatus: maybe(TerminalExitStatus),
}));

export const WaitForTerminalExitRequest = object(() => ({ sessionId: SessionId, terminalId: TerminalId }));

export const WaitForTerminalExitResponse = object(() => ({ exitCode: maybe(uint32()), signal: maybe(v.string()) }));
export type WaitForTerminalExitResponse = v.InferOutput<typeof WaitForTerminalExitResponse>;

export const KillTerminalRequest = object(() => ({ sessionId: SessionId, terminalId: TerminalId }));
export const KillTerminalResponse = object(() => ({}));
export const ReleaseTerminalRequest = object(() => ({ sessionId: SessionId, terminalId: TerminalId }));
export const ReleaseTerminalResponse = object(() => ({}));
