/** Values as a document shows them. */
import { stripVTControlCharacters } from "node:util";
import { startOf } from "@chimera/acp-schema/text";

/** The text as a page may show it: no colours, no half characters, controls as signs; of a long one the beginning. */
export function plainText(text: string): string {
  const wellFormed = beginning(text).replaceAll("\r\n", "\n").replace(HALF_PAIR, "\ufffd");
  const bare = wellFormed.includes("\u001b") ? stripVTControlCharacters(wellFormed) : wellFormed;
  return bare.replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(SIGNS + code) : "\ufffd";
  });
}

/** Text for any place in a page, between tags or inside a quoted attribute. */
export function escapeHtml(text: string): string {
  return plainText(text).replace(/[&<>"']/g, (character) => ENTITIES[character]!);
}

/** `850 ms`, `12.4 s`, `3 min 5 s`. Rounded before it is split, so that no part says 60. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

// --- internal ---

/** Nobody reads on, and what makes a page of it would be busy for long. */
const LONGEST = 262_144;

function beginning(text: string): string {
  if (text.length <= LONGEST) return text;
  const start = startOf(text, LONGEST);
  return `${start}\n[${(text.length - start.length).toLocaleString("en-US")} more characters are left out]`;
}

/** Where Unicode keeps a sign for each control character: U+2400 shows U+0000. */
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
