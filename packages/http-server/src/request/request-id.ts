/** The id of a request in the log. In a file of its own because it is loaded before the port is bound. */
export function newRequestId(): string {
  return crypto.randomUUID().slice(0, 8);
}

/** The caller's own id if it is short and plain enough for a log, else a new one. */
export function requestIdOf(given: string | readonly string[] | undefined): string {
  return typeof given === "string" && /^[\w.:-]{1,64}$/.test(given) ? given : newRequestId();
}
