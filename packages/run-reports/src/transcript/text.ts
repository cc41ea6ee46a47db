/** Formats values for a document. */
import { stripVTControlCharacters } from "node:util";
import { startOf } from "@chimera/acp-schema/text";

/** Makes text safe to show: removes colours and lone surrogates, replaces control characters by signs, and cuts long text. */
export function plainText(text: string): string {
  const wellFormed = beginning(text).replaceAll("\r\n", "\n").replace(HALF_PAIR, "\ufffd");
  const bare = wellFormed.includes("\u001b") ? stripVTControlCharacters(wellFormed) : wellFormed;
  return bare.replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(SIGNS + code) : "\ufffd";
  });
}

/** Escapes text for a page, between tags or inside a quoted attribute. */
export function escapeHtml(text: string): string {
  return plainText(text).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** `850 ms`, `12.4 s`, `3 min 5 s`. Rounds before splitting, so that no part is 60. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

// --- internal ---

/** Most characters of a text. Nobody reads more, and rendering it would take long. */
const LONGEST = 262_144;

function beginning(text: string): string {
  if (text.length <= LONGEST) return text;
  const start = startOf(text, LONGEST);
  return `${start}\n[${(text.length - start.length).toLocaleString("en-US")} more characters are left out]`;
}

/** Unicode's signs for control characters begin here: U+2400 shows U+0000. */
const SIGNS = 0x2400;
const CONTROL = /(?![\t\n])\p{Cc}/gu;
const HALF_PAIR = /\p{Cs}/gu;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
