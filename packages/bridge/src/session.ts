/** The session that a bridge shows, as far as the bridge has to know it. */
export interface BridgedSession {
  readonly id: string;
  readonly cwd: string;
  /** Read anew for every registration, heartbeat, status and refusal. */
  facts(): SessionFacts;
  /** Makes the bridge a client that approves, for as long as it runs: questions wait for a remote that is only away. */
  attach(): { detach(): void };
}

export interface SessionFacts {
  readonly model: string;
  readonly sandbox: string;
  readonly approval: string;
  /** `read-only`, `review` or `auto`. */
  readonly mode: string;
  readonly costUsd: number;
  /** The number of the last record. */
  readonly lastEventId: number;
}
