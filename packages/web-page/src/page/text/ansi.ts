/** Renders a command's output as a terminal would: with colours as classes, and with overwritten lines. */

export interface StyledText {
  readonly text: string;
  /** `red`, `bold`, several with spaces; empty for plain text. */
  readonly style: string;
}

/** Output beyond this is left out from the middle of what is shown: its end matters most. */
const SHOWN_CHARS = 32 * 1024;

export function parseAnsi(output: string): StyledText[] {
  const shown = output.length > SHOWN_CHARS ? `…\n${output.slice(-SHOWN_CHARS)}` : output;
  const runs: StyledText[] = [];
  const state: State = { color: "", bold: false, dim: false, italic: false, underline: false };
  for (const part of overwritten(shown).split(SEQUENCE)) {
    if (!part.startsWith("\u001b")) {
      if (part !== "") runs.push({ text: part.replace(CONTROLS, ""), style: styleOf(state) });
    } else if (part.endsWith("m")) select(state, part.slice(2, -1).split(/[;:]/).map(Number));
  }
  return runs;
}

// --- internal ---

interface State {
  color: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const SEQUENCE = /(\u001b\[[\d;:?]{0,40}[@-~]|\u001b\][^\u0007\u001b]{0,2048}(?:\u0007|\u001b\\)|\u001b[@-Z\\^_])/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out.
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
const COLORS = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

/** A carriage return goes to the start of its line, and what follows takes the place of what was there. */
function overwritten(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1))
    .join("\n");
}

function select(state: State, codes: readonly number[]): void {
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0;
    if (code === 0) Object.assign(state, { color: "", bold: false, dim: false, italic: false, underline: false });
    else if (code === 1) state.bold = true;
    else if (code === 2) state.dim = true;
    else if (code === 3) state.italic = true;
    else if (code === 4) state.underline = true;
    else if (code === 22) Object.assign(state, { bold: false, dim: false });
    else if (code === 23) state.italic = false;
    else if (code === 24) state.underline = false;
    else if (code >= 30 && code <= 37) state.color = COLORS[code - 30] as string;
    else if (code >= 90 && code <= 97) state.color = COLORS[code - 90] as string;
    else if (code === 39) state.color = "";
    else if (code === 38 || code === 48) {
      // Exact colours are brought to the nearest that has a class: the page has no inline style.
      const near = codes[i + 1] === 5 ? fromPalette(codes[i + 2] ?? 0) : fromRgb(codes.slice(i + 2, i + 5));
      if (code === 38) state.color = near;
      i += codes[i + 1] === 5 ? 2 : 4;
    }
  }
}

function fromPalette(index: number): string {
  if (index < 16) return COLORS[index % 8] as string;
  if (index > 231) return "";
  const cube = index - 16;
  return fromRgb([Math.floor(cube / 36) * 51, (Math.floor(cube / 6) % 6) * 51, (cube % 6) * 51]);
}

function fromRgb(rgb: readonly number[]): string {
  const bits = rgb.map((value) => (value > 127 ? 1 : 0));
  return COLORS[(bits[0] ?? 0) + 2 * (bits[1] ?? 0) + 4 * (bits[2] ?? 0)] as string;
}

function styleOf({ color, ...flags }: State): string {
  const names = Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [name] : []));
  return [...(color ? [`ansi-${color}`] : []), ...names].join(" ");
}
