/** The id by which a request is found in the log. A file of its own, because the port is bound before anything else is loaded. */
export function newRequestId(): string {
  return crypto.randomUUID().slice(0, 8);
}

/** The caller's own, where it is one that a log can hold; else a new one. */
export function requestIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === "string" && /^[\w.:-]{1,64}$/.test(given) ? given : newRequestId();
}
