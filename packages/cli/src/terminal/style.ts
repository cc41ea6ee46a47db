/** Paints text in colours, or not: decided once per stream. */
import { inspect } from "node:util";

export type Paint = (text: string) => string;

const NAMES = ["bold", "dim", "italic", "underline", "red", "green", "yellow", "cyan"] as const;

export type Style = Readonly<Record<(typeof NAMES)[number], Paint>>;

export function createStyle(color: boolean): Style {
  const paints = NAMES.map((name): [string, Paint] => {
    const [on, off] = inspect.colors[name]!;
    return [name, (text) => (color && text !== "" ? `\u001b[${on}m${text}\u001b[${off}m` : text)];
  });
  return Object.fromEntries(paints) as Style;
}

/** `NO_COLOR` means no colours. Otherwise `FORCE_COLOR` decides; without it, a terminal that is not dumb has colours. */
export function wantsColor(env: NodeJS.ProcessEnv, stream: { readonly isTTY?: boolean }): boolean {
  if (env["NO_COLOR"]) return false;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return stream.isTTY === true && env["TERM"] !== "dumb";
}
