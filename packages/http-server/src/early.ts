/** Answers liveness probes while the app is still being loaded: a server is up as soon as its port is bound. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { EVERY_ANSWER } from "./guard/headers.js";
import { createHostCheck } from "./guard/host.js";
import { describeProbes, PROBES } from "./probes.js";

/** True when the request was answered; whatever is not plainly a probe waits for the app. */
export type Early = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean;

export function createEarly(program: {
  readonly version: string;
  readonly startedAt: number;
  readonly hosts: readonly string[];
}): Early {
  const probes = describeProbes(program);
  const hostAllowed = createHostCheck(program.hosts);
  return ({ method, url = "", headers }, outgoing) => {
    const path = PROBES.find((probe) => url === probe || url.startsWith(`${probe}?`));
    if (method !== "GET" || !path || headers.origin !== undefined || !hostAllowed(headers.host)) return false;
    outgoing.writeHead(200, { "Content-Type": "application/json", ...EVERY_ANSWER });
    outgoing.end(JSON.stringify(probes[path]));
    return true;
  };
}
