/** A JSON-RPC id as `JSON.parse` reads it; its exact text travels beside it. */
export type RequestId = string | number | null;

export interface RequestFrame {
  readonly kind: "request";
  readonly id: RequestId;
  /** The id exactly as the peer wrote it, ready to be echoed. */
  readonly idText: string;
  readonly method: string;
  readonly params: unknown;
}

export interface NotificationFrame {
  readonly kind: "notification";
  readonly method: string;
  readonly params: unknown;
}

export interface ResponseFrame {
  readonly kind: "response";
  readonly id: RequestId;
  readonly result: unknown;
  /** Absent when the call succeeded. */
  readonly error?: unknown;
}

/** A line that is none of the others, with the error that answers it. */
export interface InvalidFrame {
  readonly kind: "invalid";
  readonly idText: string;
  readonly code: number;
  readonly message: string;
}

export type Frame = RequestFrame | NotificationFrame | ResponseFrame | InvalidFrame;
