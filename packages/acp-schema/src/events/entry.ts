/** The entries of a log: records, and in their place those that cannot be read back. Loads no schema. */

/** Records that cannot be read back. It is not a record itself: it has no id and no time. */
export interface Lost {
  readonly type: "lost";
  /** The number of the first record of the run. */
  readonly seq: number;
  readonly last: number;
  readonly reason: "damaged" | "missing" | "truncated";
}

/** True for a lost run among records or among a log's entries; a record that calls itself `lost` has an id. */
export function isLost(entry: { readonly type: string } | Lost): entry is Lost {
  return entry.type === "lost" && "last" in entry && !("id" in entry);
}

/** How many records were lost. */
export function lostCount({ seq, last }: Lost): number {
  return last - seq + 1;
}

/** The one sentence that people read. */
export function describeLost({ seq, last }: Lost): string {
  return seq === last ? `record ${seq} cannot be read` : `records ${seq} to ${last} cannot be read`;
}

/** What stands in the place of the records wherever a log is shown to a program: `Loss` of `../http`. */
export function lostNotice(lost: Lost) {
  const metadata = { level: "error", text: describeLost(lost) } as const;
  return { type: "notice", turn: null, metadata, missing: { first: lost.seq, last: lost.last } } as const;
}

/** The last record of a turn is exactly one of these. */
export function endsTurn(type: string): boolean {
  return type === "agent_result" || type === "cancelled";
}
