/** What a browser may do with an answer, whatever it is. */
export const SECURITY_HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
} as const;

/** The headers every answer carries; an event stream says for itself how it is cached. */
export const EVERY_ANSWER = { ...SECURITY_HEADERS, "Cache-Control": "no-store" } as const;

/** What a page may read of an answer besides its body. */
const EXPOSED = "Acp-Connection-Id, Retry-After, X-Request-Id, X-Warnings";

/** What an answer to a listed origin carries; nothing for a caller other than a browser. */
export function allowedOrigin(origin: string | undefined): Readonly<Record<string, string>> {
  return origin === undefined
    ? {}
    : { "Access-Control-Allow-Origin": origin, "Access-Control-Expose-Headers": EXPOSED, Vary: "Origin" };
}
