/** Commands in a terminal that the client owns. */
import * as v from "valibot";
import { list, maybe, object, uint32, uint64 } from "../define/shape.js";
import { SessionId, TerminalId } from "./id.js";

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
export type CreateTerminalRequest = v.InferOutput<typeof CreateTerminalRequest>;

export const CreateTerminalResponse = object(() => ({ terminalId: TerminalId }));
export type CreateTerminalResponse = v.InferOutput<typeof CreateTerminalResponse>;

export const TerminalOutputRequest = object(() => ({ sessionId: SessionId, terminalId: TerminalId }));
export type TerminalOutputRequest = v.InferOutput<typeof TerminalOutputRequest>;

export const TerminalExitStatus = object(() => ({ exitCode: maybe(uint32()), signal: maybe(v.string()) }));
export type TerminalExitStatus = v.InferOutput<typeof TerminalExitStatus>;

export const TerminalOutputResponse = object(() => ({
  output: v.string(),
  truncated: v.boolean(),
  exitStatus: maybe(TerminalExitStatus),
}));
export type TerminalOutputResponse = v.InferOutput<typeof TerminalOutputResponse>;

export const WaitForTerminalExitRequest = object(() => ({ sessionId: SessionId, terminalId: TerminalId }));
export type WaitForTerminalExitRequest = v.InferOutput<typeof WaitForTerminalExitRequest>;

export const WaitForTerminalExitResponse = object(() => ({ exitCode: maybe(uint32()), signal: maybe(v.string()) }));
export type WaitForTerminalExitResponse = v.InferOutput<typeof WaitForTerminalExitResponse>;

export const KillTerminalRequest = object(() => ({ sessionId: SessionId, terminalId: TerminalId }));
export type KillTerminalRequest = v.InferOutput<typeof KillTerminalRequest>;

export const KillTerminalResponse = object(() => ({}));
export type KillTerminalResponse = v.InferOutput<typeof KillTerminalResponse>;

export const ReleaseTerminalRequest = object(() => ({ sessionId: SessionId, terminalId: TerminalId }));
export type ReleaseTerminalRequest = v.InferOutput<typeof ReleaseTerminalRequest>;

export const ReleaseTerminalResponse = object(() => ({}));
export type ReleaseTerminalResponse = v.InferOutput<typeof ReleaseTerminalResponse>;
