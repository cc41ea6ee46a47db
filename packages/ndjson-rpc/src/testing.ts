// Two connections joined in memory, for tests of either side.

import { PassThrough } from "node:stream";
import { type Connection, type ConnectionSettings, createConnection } from "./connection.js";
import type { Methods } from "./method-table.js";

/** Two connected ends; what one sends the other receives, through the same code as over a real pipe. */
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
