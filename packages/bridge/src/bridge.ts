/** The bridge: registers, attaches and sends heartbeats, again and again until the program stops it or the remote refuses it. */
import type { Agent } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { type Attachment, attach, type BridgePeer, type BridgeServer } from "./attach.js";
import { BridgeError, type BridgeErrorCode, isBridgeError } from "./errors.js";
import { checkRemote, type Remote } from "./remote.js";
import { createRemoteApi } from "./remote-api.js";
import type { BridgedSession } from "./session.js";

const HEARTBEAT_MS = 30_000;
/** The delay before the next attempt doubles from the first to the longest, and starts again after a success. */
/** The delay doubles as by `backoff` of `@chimera/acp-schema/timer`, on which this package does not depend. */
const FIRST_DELAY_MS = 5_000;
const LONGEST_DELAY_MS = 60_000;
const ORIGIN = "bridge";

export interface BridgeOptions extends Remote {
  readonly session: BridgedSession;
  /** Serves one connection; called for each new connection. */
  readonly serve: (peer: BridgePeer) => BridgeServer;
  /** Makes the connections, for a proxy or a private certificate. */
  readonly agent?: Agent;
  readonly clock?: BridgeClock;
  readonly log?: (message: string, fields?: Record<string, unknown>) => void;
}

/** Time as a dependency, so that a test can run a schedule of minutes at once. */
export interface BridgeClock {
  /** Resolves after `ms`, or at once when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export type BridgeState = "connecting" | "connected" | "waiting";

/** The answer to `session/bridgeStatus`. */
export type BridgeStatus =
  | { readonly attached: false }
  | {
      readonly attached: true;
      readonly state: BridgeState;
      readonly remoteUrl: string;
      readonly uiUrl: string | null;
      readonly lastEventId: number;
      /** Why the last attempt to connect failed. */
      readonly error?: string;
    };

/** 0: the program stopped the bridge. 1: the remote is not a receiver. 2: the remote refused the token. */
export interface BridgeExit {
  readonly code: 0 | 1 | 2;
  readonly message: string;
}

export interface Bridge {
  status(): BridgeStatus;
  /** Keeps the session attached until the signal aborts or the remote refuses it for good. Never throws. Call it only once. */
  run(signal: AbortSignal): Promise<BridgeExit>;
}

/** Exit codes of errors that no later attempt can cure. The second table applies only until the first successful attachment. */
const FATAL: Partial<Record<BridgeErrorCode, 1 | 2>> = { unauthorized: 2 };
const FATAL_AT_FIRST: Partial<Record<BridgeErrorCode, 1 | 2>> = { not_a_receiver: 1, untrusted_certificate: 1 };

/**
 * Throws the errors of `checkRemote`.
 *
 * @example
 * const bridge = createBridge({ remoteUrl: "wss://console.example/agents", token, session, serve });
 * await bridge.run(signal);
 */
export function createBridge(options: BridgeOptions): Bridge {
  const { session, clock = systemClock, log = () => {} } = options;
  const { address, token } = checkRemote(options);
  const api = createRemoteApi({ address, token, session, agent: options.agent });
  let state: BridgeState | null = null;
  let uiUrl: string | null = null;
  let problem: string | null = null;
  let failures = 0;
  let registered = false;
  let attachedOnce = false;

  /** Registers once and serves the socket. Returns the error that ended it. */
  const attempt = async (signal: AbortSignal): Promise<BridgeError> => {
    state = "connecting";
    const registration = await api.register(signal);
    registered = true;
    uiUrl = registration.uiUrl;
    const { agent, serve } = options;
    const attachment = await attach({ url: registration.wsUrl, token, agent, origin: ORIGIN, session, serve }, signal);
    state = "connected";
    problem = null;
    attachedOnce = true;
    failures = 0;
    log("bridge attached", { remote: address.shown, ui: uiUrl });
    return hold(attachment, signal);
  };

  const hold = async (attachment: Attachment, signal: AbortSignal): Promise<BridgeError> => {
    const over = new AbortController();
    const stop = () => void attachment.close();
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    const beating = heartbeats(attachment, over.signal);
    await attachment.ended;
    over.abort();
    signal.removeEventListener("abort", stop);
    return (await beating) ?? new BridgeError("unreachable", "the connection was lost");
  };

  /** Resolves with the error that makes the connection useless, or with undefined when the connection has ended. */
  const heartbeats = async (attachment: Attachment, over: AbortSignal): Promise<BridgeError | undefined> => {
    for (;;) {
      await clock.sleep(HEARTBEAT_MS, over);
      if (over.aborted) return undefined;
      if (!attachment.stillThere()) {
        attachment.cut();
        return new BridgeError("unreachable", "the remote went silent");
      }
      const error = await api.heartbeat(over).then(() => undefined, asBridgeError);
      if (!error || over.aborted) continue;
      log("bridge heartbeat failed", { error: error.message });
      if (!ENDS_CONNECTION.has(error.code)) continue;
      attachment.cut();
      return error;
    }
  };

  const goodbye = async () => {
    if (registered) await api.remove().catch((error) => log("bridge goodbye failed", { error: String(error) }));
  };

  const keep = async (signal: AbortSignal): Promise<BridgeExit> => {
    while (!signal.aborted) {
      const error = await attempt(signal).catch(asBridgeError);
      if (signal.aborted) break;
      const code = FATAL[error.code] ?? (attachedOnce ? undefined : FATAL_AT_FIRST[error.code]);
      if (code) return { code, message: error.message };
      state = "waiting";
      problem = error.message;
      const delay = Math.min(FIRST_DELAY_MS * 2 ** failures++, LONGEST_DELAY_MS);
      log("bridge lost; trying again", { error: error.message, inMs: delay });
      await clock.sleep(delay, signal);
    }
    return { code: 0, message: "stopped" };
  };

  return {
    status: () =>
      state === null
        ? { attached: false }
        : {
            attached: true,
            state,
            remoteUrl: address.shown,
            uiUrl,
            lastEventId: session.facts().lastEventId,
            ...(problem !== null && { error: problem }),
          },
    async run(signal) {
      const client = session.attach();
      const exit = await keep(signal);
      client.detach();
      await goodbye();
      state = null;
      return exit;
    },
  };
}

// --- internal ---

const ENDS_CONNECTION = new Set<BridgeErrorCode>(["unauthorized", "unknown_session"]);

function asBridgeError(error: unknown): BridgeError {
  return isBridgeError(error) ? error : new BridgeError("unreachable", String(error), { cause: error });
}

const systemClock: BridgeClock = {
  sleep: (ms, signal) => wait(ms, undefined, { signal }).catch(() => {}),
};
