import { describe, expect, it } from "vitest";
import { deferred, defineMethods, ErrorCode, RpcError, row } from "../src/index.js";
import { createPair } from "../src/testing.js";
import { createRawPeer } from "./raw-peer.js";

describe("requests", () => {
  it("are answered by the row with their name, in both directions at once", async () => {
    const { left, right } = createPair(
      { methods: defineMethods({ "left/name": row({ handle: () => "left" }) }) },
      { methods: defineMethods({ "right/name": row({ handle: async () => "right" }) }) },
    );
    expect(await Promise.all([left.request("right/name"), right.request("left/name")])).toEqual(["right", "left"]);
    await left.close();
    expect(await right.closed).toBe("input_ended");
  });

  it("are answered when the handler replies: after earlier lines and before later ones", async () => {
    const peer = createRawPeer({
      methods: defineMethods({
        prompt: row({
          handle: (_params, context) => {
            setImmediate(() => {
              peer.connection.notify("first");
              peer.connection.notifyEncoded('{"jsonrpc":"2.0","method":"second"}');
              context.reply("third");
              peer.connection.notify("fourth");
              context.reply("never");
            });
            return deferred;
          },
        }),
      }),
    });
    await peer.send('{"jsonrpc":"2.0","id":1,"method":"prompt"}');
    expect(peer.lines()).toEqual([
      '{"jsonrpc":"2.0","method":"first"}',
      '{"jsonrpc":"2.0","method":"second"}',
      '{"jsonrpc":"2.0","id":1,"result":"third"}',
      '{"jsonrpc":"2.0","method":"fourth"}',
    ]);
  });

  it("above the limit are refused at once with a retryable error; cancels and later requests get through", async () => {
    const peer = createRawPeer({
      limits: { maxOpenRequests: 2 },
      methods: defineMethods({
        wait: row({ handle: () => deferred }),
      }),
    });
    for (const id of [1, 2, 3]) await peer.send(`{"jsonrpc":"2.0","id":${id},"method":"wait"}`);
    expect(peer.lines().map((line) => JSON.parse(line))).toEqual([
      {
        jsonrpc: "2.0",
        id: 3,
        error: {
          code: ErrorCode.overloaded,
          message: expect.stringContaining("send this one again"),
          data: { code: "overloaded", retryable: true },
        },
      },
    ]);
    await peer.send('{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}');
    await peer.send('{"jsonrpc":"2.0","id":1,"method":"unknown"}');
    expect(JSON.parse(peer.lines().at(-1)!)).toMatchObject({ id: 1, error: { code: -32001 } });
  });

  it("fail with the error the handler threw", async () => {
    const { left } = createPair(
      {},
      {
        methods: defineMethods({
          refuse: row({
            handle: () => {
              throw new RpcError(-32002, "no such session", { sessionId: "x" });
            },
          }),
        }),
      },
    );
    await expect(left.request("refuse")).rejects.toMatchObject({ code: -32002, data: { sessionId: "x" } });
    await expect(left.request("unknown")).rejects.toMatchObject({ code: ErrorCode.methodNotFound });
    await left.close();
  });
});
