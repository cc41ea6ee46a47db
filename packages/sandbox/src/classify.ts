/** `@chimera/sandbox/classify`: how risky a shell command is, judged from its text; loads the shell grammar. */
export type { Risk } from "./classify/danger.js";
export { type ClassifyOptions, classify, type Decision, MAX_COMMAND_BYTES, type Verdict } from "./classify/judge.js";
export { type CommandRules, matchRule } from "./classify/rules.js";
