/** `@chimera/sandbox/classify`: judges the risk of a shell command from its text. Loads the shell grammar. */
export type { CommandRisk } from "./classify/danger.js";
export type { ClassifyOptions, CommandDecision, Verdict } from "./classify/judge.js";
export { classify, MAX_COMMAND_BYTES } from "./classify/judge.js";
export { type CommandRules, matchRule } from "./classify/rules.js";
