// The public API: any program that speaks ACP as the engine of sessions, and the client side of ACP by itself.

export { type AgentPeer, type ConnectedAgent, connectAgent, type UnknownUpdate } from "./connect-agent.js";
export { type AcpEngine, type AcpEngineOptions, createAcpEngine } from "./engine.js";
export { EngineError, type EngineErrorCode } from "./errors.js";
export type { ChildProgram, ProgramStart } from "./program.js";
