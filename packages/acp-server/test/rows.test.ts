import { expect, test } from "vitest";
import type { Traits } from "../src/index.js";
import { METHODS } from "../src/standard/methods.js";
import { connect, makeEngine, saying } from "./harness.js";

test("initialize names the capabilities and the methods of our own that the rows have", async () => {
  const client = connect(makeEngine(saying("x")));
  const { result } = await client.call("initialize", { protocolVersion: 1 });
  const { sessionCapabilities, _meta } = result!["agentCapabilities"] as unknown as {
    sessionCapabilities: object;
    _meta: Record<string, unknown>;
  };
  const named = Object.values<Traits>(METHODS).flatMap(({ capability }) => capability ?? []);
  expect(Object.keys(sessionCapabilities).sort()).toEqual(["additionalDirectories", ...named].sort());
  const own = Object.keys(METHODS).filter((name) => name.startsWith("_"));
  expect(_meta["chimera.dev/methods"]).toEqual(own);
});
