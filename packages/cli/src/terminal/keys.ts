/** Turns a terminal's input into keys. A paste is a single key, so that its text can neither answer a question nor send a prompt. */
import { StringDecoder } from "node:string_decoder";

export type Key =
  /** Typed characters. Characters that arrive together are one key. `alone`: a single character arrived. */
  | { readonly kind: "text"; readonly text: string; readonly alone?: boolean }
  | { readonly kind: "paste"; readonly text: string }
  /** `enter`, `alt-enter`, `ctrl-c`, `up`, `shift-tab`. */
  | { readonly kind: "named"; readonly name: string };

/** An Escape without further input in this time is the key itself, and not the start of a sequence. */
const ESCAPE_MS = 40;
const PASTE_START = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** Longer input is not treated as an escape sequence. */
const LONGEST_SEQUENCE = 64;

export function createKeys(onKey: (key: Key) => void) {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let pasted: string[] | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isAlone = false;

  /** Passes on complete keys; with `final` also the rest, even if it looks incomplete. */
  const read = (final: boolean): void => {
    while (rest !== "") {
      if (pasted !== null) {
        const end = rest.indexOf(PASTE_END);
        const kept = end < 0 ? Math.max(0, rest.length - PASTE_END.length + 1) : end;
        pasted.push(rest.slice(0, kept));
        rest = rest.slice(end < 0 ? kept : end + PASTE_END.length);
        if (end < 0) return;
        onKey({ kind: "paste", text: pasted.join("").replace(/\r\n?/g, "\n") });
        pasted = null;
        continue;
      }
      if (!final && INCOMPLETE.test(rest) && rest.length < LONGEST_SEQUENCE) return;
      if (rest.startsWith(PASTE_START)) {
        pasted = [];
        rest = rest.slice(PASTE_START.length);
        continue;
      }
      const { length, key } = firstKey(rest);
      rest = rest.slice(length);
      if (key) onKey(key.kind === "text" ? { ...key, alone: isAlone } : key);
    }
  };

  return {
    write(bytes: Buffer) {
      clearTimeout(timer);
      const text = decoder.write(bytes);
      // A terminal that does not mark pastes sends one as a single piece, while a person sends one key at a time.
      isAlone = rest === "" && [...text].length === 1;
      rest += text;
      read(false);
      if (rest !== "" && pasted === null) timer = setTimeout(() => read(true), ESCAPE_MS);
    },
    close: () => clearTimeout(timer),
  };
}

// --- internal ---

/* biome-ignore-start lint/suspicious/noControlCharactersInRegex: control characters are what a terminal sends */
const INCOMPLETE = /^\u001b(?:\[[0-9;:<=>?]*[ -/]*|O)?$/;
const CSI = /^\u001b\[([0-9;:<=>?]*)[ -/]*([@-~])/;
const SS3 = /^\u001bO([ -~])/;
const TYPED = /^[^\u0000-\u001f\u007f]+/;
/* biome-ignore-end lint/suspicious/noControlCharactersInRegex: control characters are what a terminal sends */

const BY_LETTER: Readonly<Record<string, string>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  M: "enter",
  Z: "shift-tab",
};
const BY_NUMBER: Readonly<Record<string, string>> = {
  1: "home",
  3: "delete",
  4: "end",
  7: "home",
  8: "end",
};
const BY_CODE: Readonly<Record<number, string>> = {
  8: "backspace",
  9: "tab",
  13: "enter",
  27: "escape",
  127: "backspace",
};

function firstKey(text: string): { length: number; key: Key | null } {
  const csi = CSI.exec(text);
  if (csi) return { length: csi[0].length, key: keyOfSequence(csi[1] ?? "", csi[2] ?? "") };
  const ss3 = SS3.exec(text);
  if (ss3) return { length: 3, key: named(BY_LETTER[ss3[1] ?? ""]) };
  const typed = TYPED.exec(text)?.[0];
  if (typed !== undefined) return { length: typed.length, key: { kind: "text", text: typed } };
  if (text.length > 1 && text[0] === "\u001b" && text[1] !== "\u001b") {
    const [char = ""] = text.slice(1);
    return { length: 1 + char.length, key: named(`alt-${nameOfCode(char.codePointAt(0) ?? 0)}`) };
  }
  return { length: 1, key: named(nameOfCode(text.charCodeAt(0))) };
}

/** Reads `CSI 1;5C`, `CSI 3~`, and the two forms in which terminals report Shift+Enter: `CSI 13;2u` and `CSI 27;2;13~`. */
function keyOfSequence(parameters: string, final: string): Key | null {
  const [first = "", second = "", third = ""] = parameters.split(";");
  const modifiers = modifiersOf(Number.parseInt(second, 10) || 1);
  if (final === "u" || (final === "~" && first === "27")) {
    const code = Number.parseInt(final === "u" ? first : third, 10) || 0;
    const isTyped = code >= 32 && code !== 127 && code <= 0x10ffff && (modifiers === "" || modifiers === "shift-");
    return isTyped ? { kind: "text", text: String.fromCodePoint(code) } : named(modifiers + nameOfCode(code));
  }
  const name = final === "~" ? BY_NUMBER[first] : BY_LETTER[final];
  return name === undefined ? null : named(modifiers + name);
}

function modifiersOf(parameter: number): string {
  const bits = parameter - 1;
  return `${bits & 4 ? "ctrl-" : ""}${bits & 2 ? "alt-" : ""}${bits & 1 ? "shift-" : ""}`;
}

function nameOfCode(code: number): string {
  const name = BY_CODE[code];
  if (name !== undefined) return name;
  return code < 32 ? `ctrl-${String.fromCharCode(code + 96)}` : String.fromCodePoint(Math.min(code, 0x10ffff));
}

function named(name: string | undefined): Key | null {
  return name === undefined ? null : { kind: "named", name };
}
