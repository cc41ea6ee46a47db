/** The session of a bridge, with only what the bridge needs. */
export interface BridgedSession {
  readonly id: string;
  readonly cwd: string;
  /** Called for every registration, heartbeat, status and refusal. */
  facts(): SessionFacts;
  /** Attaches the bridge as a client that can approve, so that questions wait for a remote that is temporarily away. */
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
