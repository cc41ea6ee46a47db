/** Finds secrets that a transcript must not contain: keys and tokens by their form, by the name before them, or by their value. */
import type { GiveWay } from "./pace.js";

/** A range of a text; the end is exclusive. */
export type Range = readonly [start: number, end: number];

export interface Redactor {
  /** The ranges of the secrets, in order and without overlaps. */
  find(text: string): Range[];
  text(text: string): string;
  /** A copy of a JSON value without the secrets in its texts. */
  value(value: unknown): unknown;
  /** The same for a value of any size, which is searched in parts. */
  largeValue(value: unknown, giveWay: GiveWay): Promise<unknown>;
}

const REDACTED = "[redacted]";

/**
 * `live` are secrets known by value, such as the tokens of this server. Those with fewer than 8 characters are ignored.
 *
 * @example
 * const clean = createRedactor([masterToken]).text(answer);
 */
export function createRedactor(live: readonly string[] = []): Redactor {
  const exact = [...new Set(live)]
    .filter((token) => token.length >= SHORTEST)
    .sort((a, b) => b.length - a.length)
    .map((token) => token.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  const patterns = exact.length === 0 ? PATTERNS : [...PATTERNS, new RegExp(exact.join("|"), "g")];

  const find = (text: string): Range[] => {
    const found: Range[] = [];
    if (text.length < SHORTEST) return found;
    for (const pattern of patterns) {
      for (const match of text.matchAll(pattern)) {
        found.push([match.index + (match[1]?.length ?? 0), match.index + match[0].length]);
      }
    }
    return merged(found);
  };

  const redactText = (text: string): string => cutRanges(text, 0, find(text));

  const redactValue = (value: unknown, depth: number): unknown => {
    if (typeof value === "string") return redactText(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth > DEEPEST) return "[too deeply nested]";
    if (Array.isArray(value)) return value.map((item) => redactValue(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        redactText(key),
        SECRET_NAME.test(key) && typeof item === "string" && item !== "" ? REDACTED : redactValue(item, depth + 1),
      ]),
    );
  };

  const redactLargeText = async (text: string, giveWay: GiveWay): Promise<string> => {
    let clean = "";
    for (let from = 0, to = 0; from < text.length; from = to) {
      const window = text.slice(from, from + WINDOW);
      const ranges = find(window);
      to = from + (from + WINDOW < text.length ? cutOf(ranges) : window.length);
      clean += cutRanges(text.slice(from, to), 0, ranges);
      await giveWay();
    }
    return clean;
  };

  const redactLargeValue = async (value: unknown, depth: number, giveWay: GiveWay): Promise<unknown> => {
    if (!isLarge(value)) return redactValue(value, depth);
    if (typeof value === "string") return redactLargeText(value, giveWay);
    if (depth > DEEPEST) return "[too deeply nested]";
    const members: [string, unknown][] = [];
    for (const [key, item] of Object.entries(value as object)) {
      const secret = SECRET_NAME.test(key) && typeof item === "string" && item !== "";
      members.push([redactText(key), secret ? REDACTED : await redactLargeValue(item, depth + 1, giveWay)]);
      await giveWay();
    }
    return Array.isArray(value) ? members.map(([, item]) => item) : Object.fromEntries(members);
  };

  return {
    find,
    text: redactText,
    value: (value) => redactValue(value, 0),
    largeValue: (value, giveWay) => redactLargeValue(value, 0, giveWay),
  };
}

/** Replaces ranges of a longer text in the part of it that begins at `offset`. The mark is put where a range begins. */
export function cutRanges(part: string, offset: number, ranges: readonly Range[]): string {
  let out = "";
  let from = 0;
  for (const [start, end] of ranges) {
    if (end <= offset) continue;
    if (start >= offset + part.length) break;
    out += part.slice(from, Math.max(start - offset, 0));
    if (start >= offset) out += REDACTED;
    from = Math.min(end - offset, part.length);
  }
  return out + part.slice(from);
}

/** Characters of a long text to search at once. */
export const WINDOW = 65_536;
/** Characters at the end of a window to search again with the next one. Longer than any recognised secret. */
export const OVERLAP = 17_408;

// --- internal ---

/** A value with more members is searched in parts. */
const MANY = 500;

/** How much of a window is finished: not its overlap, and never a part of a secret. */
function cutOf(ranges: readonly Range[]): number {
  const crossing = ranges.find(([start, end]) => start < WINDOW - OVERLAP && end > WINDOW - OVERLAP);
  if (!crossing) return WINDOW - OVERLAP;
  return crossing[0] > 0 ? crossing[0] : crossing[1];
}

function isLarge(value: unknown): boolean {
  let left = MANY;
  const look = (each: unknown, depth: number): boolean => {
    left -= 1;
    if (typeof each === "string") return each.length > WINDOW;
    if (typeof each !== "object" || each === null || depth > DEEPEST) return false;
    return left < 0 || Object.values(each).some((member) => look(member, depth + 1));
  };
  return look(value, 0) || left < 0;
}

/** The shortest secret. Shorter texts, which most texts of a log are, need no search. */
const SHORTEST = 8;
/** Bounds the recursion. Only hostile values nest deeper. */
const DEEPEST = 64;

/** Keys whose text value is always a secret. */
const SECRET_NAME =
  /^(?:(?:proxy-)?authorization|(?:set-)?cookie|x-api-key|api[_-]?key|password|passwd|passphrase|secret|client[_-]?secret|(?:[a-z]+[_-])?token|(?:access|auth|refresh|session|bearer|id)token|private[_-]?key|secret[_-]?key)$/i;

/** All are linear on hostile text. Group 1, if there is one, is the text before the secret, which stays. */
const PATTERNS: readonly RegExp[] = [
  // A private key, complete or cut off.
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:(?!-----BEGIN )[\s\S]){0,16384}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:\s|\\[nr]|[A-Za-z0-9+/=]{16,})*)/g,
  // Keys with a known prefix: of model providers, code hosts, clouds, chat, payment, registries.
  /(?<![A-Za-z0-9])(?:sk-[\w-]{16,}|[rs]k_(?:live|test)_\w{16,}|xai-\w{20,}|gsk_\w{20,}|hf_\w{20,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|npm_\w{30,}|pypi-[\w-]{30,}|dop_v1_\w{40,}|AGE-SECRET-KEY-1\w{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,})/g,
  // Credentials in a header, in any spelling.
  /(\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:(?:bearer|basic|token|digest)\s{1,4})?)[^\s"'`,;<>\\]{4,}/gi,
  /(\b(?:set-)?cookie["']?\s{0,4}:\s{0,4}["']?)[\w-]{1,64}=[^\r\n"'`<>\\]{4,4096}/gi,
  /(\bbearer\s{1,4})(?=[\w.~+/=-]*\d|[\w.~+/=-]{24})[\w.~+/=-]{8,}/gi,
  // A value after a name such as `password`. It must have a digit, to exclude `password: string`.
  /((?:(?:api|account)[_-]?key|secret[_-]?(?:access[_-]?)?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|client[_-]?secret|password|passwd|passphrase)\\?["']?\s{0,4}(?:=|:)\s{0,4}\\?["']?)(?=[^\s"'`,;&<>\\]{0,200}\d)[\w+/=.~!@#%^*-][^\s"'`,;&<>\\]{5,}/gi,
  // The password of a login with curl.
  /(\bcurl\b[^\r\n]{0,400}?\s(?:-u\s{0,4}|--user[=\s]\s{0,4})["']?[^\s:"'/]{1,64}:)[^\s"']{1,256}/g,
  // The password in an address.
  /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"']{0,64}:)[^\s/@"']{1,256}(?=@)/gi,
];

function merged(ranges: Range[]): Range[] {
  ranges.sort((a, b) => a[0] - b[0]);
  const apart: Range[] = [];
  for (const range of ranges) {
    const last = apart.at(-1);
    if (last !== undefined && range[0] < last[1]) apart[apart.length - 1] = [last[0], Math.max(last[1], range[1])];
    else apart.push(range);
  }
  return apart;
}
