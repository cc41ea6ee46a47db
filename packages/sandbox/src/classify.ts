/** `@chimera/sandbox/classify`: judges the risk of a shell command from its text. Loads the shell grammar. */
export type { Risk } from "./classify/danger.js";
export { type ClassifyOptions, classify, type Decision, MAX_COMMAND_BYTES, type Verdict } from "./classify/judge.js";
export { type CommandRules, matchRule } from "./classify/rules.js";
