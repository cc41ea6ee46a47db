import { stripVTControlCharacters } from "node:util";
import { startOf } from "@chimera/acp-schema/text";

/**
 * The text as a page may show it: no terminal colours, no half characters, other control characters as visible signs. Of a very
 * long one the beginning; the JSON format has all of it.
 */
export function plainText(text: string): string {
  const wellFormed = beginning(text).replaceAll("\r\n", "\n").replace(HALF_PAIR, "\ufffd");
  const bare = wellFormed.includes("\u001b") ? stripVTControlCharacters(wellFormed) : wellFormed;
  return bare.replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(SIGNS + code) : "\ufffd";
  });
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
