/** What the program tells the model, in the person's place, when a reply has to be asked for again. Kept until the turn ends. */
import type { ModelMessage } from "../providers/model.js";

export const notes = {
  /** The connection was lost, or the provider failed, after something had been said. */
  brokeOff:
    "Your last reply broke off while it was sent. What arrived of it stands above. Go on exactly where it stops and repeat nothing of " +
    "it. No call of it was run: make the calls again that you still need.",

  /** The reply was longer than a reply may be; `calls` names what it called. */
  tooLong: (spoke: boolean, calls: readonly string[]): string =>
    [
      "Your last reply reached the limit on the length of a reply and was cut there.",
      spoke
        ? "What arrived of it stands above: go on exactly where it stops and repeat nothing of it."
        : "Nothing of it was said.",
      calls.length > 0
        ? `Its calls (${calls.join(", ")}) are incomplete, so none was run. Make them again whole; do long work in several calls that are shorter each, such as a file written in parts.`
        : "Keep the rest short, or do it in several steps.",
    ].join(" "),

  empty:
    "Your last reply was empty. If the task is not done, go on with it by calling a tool. If it is done, say in a few words what you " +
    "found or did.",
} as const;

export function noteMessage(text: string): ModelMessage {
  return { role: "user", text, note: true };
}
