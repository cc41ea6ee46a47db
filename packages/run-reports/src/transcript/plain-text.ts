import { stripVTControlCharacters } from "node:util";

/** The text as a page may show it: no terminal colours, no half characters, other control characters as visible signs. */
export function plainText(text: string): string {
  const wellFormed = text.replaceAll("\r\n", "\n").replace(HALF_PAIR, "\ufffd");
  const bare = wellFormed.includes("\u001b") ? stripVTControlCharacters(wellFormed) : wellFormed;
  return bare.replace(CONTROL, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(SIGNS + code) : "\ufffd";
  });
}

// --- internal ---

/** Where Unicode keeps a sign for each control character: U+2400 shows U+0000. */
const SIGNS = 0x2400;
const CONTROL = /(?![\t\n])\p{Cc}/gu;
const HALF_PAIR = /\p{Cs}/gu;
