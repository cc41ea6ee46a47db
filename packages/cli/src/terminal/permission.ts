/** A permission request in words, and the answers a person can type. */
import type { Decision, Metadata } from "@chimera/acp-schema/events";
import { startOf } from "@chimera/acp-schema/text";
import type { Style } from "./style.js";
import { plainLine } from "./text.js";

const ANSWERS: Readonly<Record<string, Decision>> = {
  y: "allow",
  yes: "allow",
  allow: "allow",
  n: "deny",
  no: "deny",
  deny: "deny",
  a: "always",
  always: "always",
  never: "never",
};

const WORDS: Readonly<Record<Decision, string>> = { allow: "[y]es", deny: "[n]o", always: "[a]lways", never: "never" };

export function permissionQuestion(request: Metadata<"permission_request">, style: Style): string {
  const subject = plainLine(String(request.args["command"] ?? request.args["path"] ?? JSON.stringify(request.args)));
  const risk = request.risk === "low" ? "" : ` ${style.yellow(`(${request.risk} risk)`)}`;
  return `${style.yellow("?")} ${style.bold(plainLine(request.tool))} ${startOf(subject, 500)}${risk}`;
}

/** The answers it takes: `[y]es / [n]o / [a]lways / never`. */
export function permissionWords(options: readonly Decision[]): string {
  return options.map((option) => WORDS[option]).join(" / ");
}

/** Undefined for anything that is no answer. */
export function parseAnswer(text: string, options: readonly Decision[]): Decision | undefined {
  const word = text.trim().toLowerCase();
  const decision = Object.hasOwn(ANSWERS, word) ? ANSWERS[word] : undefined;
  return decision && options.includes(decision) ? decision : undefined;
}
