/** Starts bridges that end with their test. */
import { setTimeout } from "node:timers/promises";
import { afterEach } from "vitest";
import { type Bridge, type BridgeClock, type BridgeExit, type BridgeOptions, createBridge } from "../src/index.js";
import type { Program } from "./program.js";
import { type Receiver, type ReceiverOptions, startReceiver, TOKEN } from "./receiver.js";

/** Heartbeats are as far apart as they are; the next attempt comes soon. */
const quick: BridgeClock = {
  sleep: (ms, signal) => setTimeout(ms < 30_000 ? 10 : ms, undefined, { signal }).catch(() => {}),
};

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

export interface Running {
  readonly bridge: Bridge;
  readonly exit: Promise<BridgeExit>;
  readonly logged: string[];
  stop(): void;
}

export async function receive(options?: ReceiverOptions): Promise<Receiver> {
  const receiver = await startReceiver(options);
  endings.push(() => receiver.kill());
  return receiver;
}

export function run(program: Program, receiver: Receiver, options: Partial<BridgeOptions> = {}): Running {
  const abort = new AbortController();
  const logged: string[] = [];
  const bridge = createBridge({
    remoteUrl: receiver.url,
    token: TOKEN,
    insecure: true,
    session: program.bridged,
    serve: program.serve,
    clock: quick,
    log: (message, fields) => logged.push(`${message} ${JSON.stringify(fields)}`),
    ...options,
  });
  const exit = bridge.run(abort.signal);
  endings.push(async () => {
    abort.abort();
    await exit;
    await program.close();
  });
  return { bridge, exit, logged, stop: () => abort.abort() };
}
