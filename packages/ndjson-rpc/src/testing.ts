// For tests and benchmarks: two connections joined in memory, and the reading half of a connection on its own.

import { PassThrough } from "node:stream";
import { type Connection, type ConnectionSettings, createConnection } from "./connection.js";
import type { Frame } from "./frame.js";
import { createLineReader, frameOf, type LineSplitter } from "./frame-reader.js";
import { type ConnectionLimits, defaultLimits } from "./limits.js";
import type { Methods } from "./method-table.js";

/**
 * Makes two connections that are each other's peer, through the same code as over a real pipe.
 *
 * @example
 * const { left, right } = createPair({ methods: serverMethods });
 * await right.request("echo", { text: "hello" });
 */
export function createPair<LeftPeer extends Methods = Methods, RightPeer extends Methods = Methods>(
  left: ConnectionSettings<LeftPeer> = {},
  right: ConnectionSettings<RightPeer> = {},
): { left: Connection<LeftPeer>; right: Connection<RightPeer> } {
  const toRight = new PassThrough();
  const toLeft = new PassThrough();
  return {
    left: createConnection({ ...left, input: toLeft, output: toRight }),
    right: createConnection({ ...right, input: toRight, output: toLeft }),
  };
}

/**
 * Takes bytes and calls `onFrame` once for each line that is not blank.
 *
 * @example
 * const reader = createFrameReader((frame) => frames.push(frame));
 * socket.on("data", (chunk) => reader.push(chunk));
 */
export function createFrameReader(
  onFrame: (frame: Frame) => void,
  limits: Partial<Pick<ConnectionLimits, "maxLineBytes" | "maxDepth">> = {},
): LineSplitter {
  const { maxDepth, maxLineBytes } = { ...defaultLimits, ...limits };
  return createLineReader((line) => onFrame(frameOf(line, maxDepth)), maxLineBytes);
}
