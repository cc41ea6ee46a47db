/** Headers that restrict what a browser may do with any answer. */
export const SECURITY_HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
} as const;

/** The headers of every answer, except that an event stream has its own `Cache-Control`. */
export const EVERY_ANSWER = { ...SECURITY_HEADERS, "Cache-Control": "no-store" } as const;

/** The headers of an answer that a page may read. */
const EXPOSED = "Acp-Connection-Id, Retry-After, X-Request-Id, X-Warnings";

/** The headers of an answer to an allowed origin. None for a caller that is not a browser. */
export function allowedOrigin(origin: string | undefined): Readonly<Record<string, string>> {
  return origin === undefined
    ? {}
    : { "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED, Vary: "Origin" };
}
