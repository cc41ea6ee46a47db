/** The headers every answer carries, whatever it is. */
export const SECURITY_HEADERS = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Resource-Policy": "same-origin",
} as const;

/** What an answer to a listed origin carries; nothing for a caller that is no browser. */
export function allowedOrigin(origin: string | undefined): Readonly<Record<string, string>> {
  return origin === undefined ? {} : { "Access-Control-Allow-Origin": origin, Vary: "Origin" };
}
