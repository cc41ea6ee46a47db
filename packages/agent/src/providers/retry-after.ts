/** How long a provider wants to be left alone: in its headers, or only in its words. */

/** By `retry-after-ms`, or by `retry-after` in seconds or as a date; undefined when neither is there. */
export function retryAfter(headers: Readonly<Record<string, string | string[] | undefined>>): number | undefined {
  const milliseconds = Number(headers["retry-after-ms"]);
  if (milliseconds > 0) return milliseconds;
  const value = headers["retry-after"];
  if (typeof value !== "string") return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/**
 * By the words of an error: "Please try again in 3.2s" (OpenAI), "in 7m12.48s" (Groq), "Please retry after 30 seconds" (Azure),
 * "Please retry in 34.07s" (Gemini).
 */
export function waitIn(text: string): number | undefined {
  const said = /(?:try(?: again)?|retry(?:ing)?)(?: again)? (?:in|after)\s+((?:[\d.]+\s*[a-z]+[\s,]*)+)/i.exec(
    text,
  )?.[1];
  if (!said) return undefined;
  let total = 0;
  for (const [, amount, unit = ""] of said.matchAll(/([\d.]+)\s*([a-z]+)/gi)) {
    const factor = UNITS.find(([names]) => names.test(unit))?.[1];
    if (factor === undefined || !Number.isFinite(Number(amount))) break;
    total += Number(amount) * factor;
  }
  return total > 0 ? Math.ceil(total) : undefined;
}

// --- internal ---

const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^(?:ms|milliseconds?|millis)$/i, 1],
  [/^(?:s|secs?|seconds?)$/i, 1_000],
  [/^(?:m|mins?|minutes?)$/i, 60_000],
  [/^(?:h|hrs?|hours?)$/i, 3_600_000],
  [/^(?:d|days?)$/i, 86_400_000],
];
