/** Colours, or none: one decision per stream, made once. */
export type Paint = (text: string) => string;

const CODES = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  strike: [9, 29],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const satisfies Record<string, readonly [number, number]>;

export type Style = Readonly<Record<keyof typeof CODES, Paint>>;

export function createStyle(color: boolean): Style {
  const paints = Object.entries(CODES).map(([name, [on, off]]) => [
    name,
    color ? (text: string) => (text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`) : (text: string) => text,
  ]);
  return Object.fromEntries(paints) as Style;
}

/** `NO_COLOR` and a dumb terminal say no, `FORCE_COLOR` says yes, a terminal says yes, a pipe says no. */
export function wantsColor(env: NodeJS.ProcessEnv, stream: { readonly isTTY?: boolean }): boolean {
  if (env["NO_COLOR"]) return false;
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return stream.isTTY === true && env["TERM"] !== "dumb";
}
