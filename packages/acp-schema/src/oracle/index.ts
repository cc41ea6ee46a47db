/** `@chimera/acp-schema/oracle`: for tests. Judges the frames of a conversation by the official schema, strictly. */
export { type Conversation, createOracle, type Oracle, type OracleOptions, type Part, type Sender } from "./oracle.js";
