import { describe, expect, it } from "vitest";
import { defineMethods, row } from "../src/index.js";
import { createPair } from "../src/testing.js";
import { createRawPeer } from "./raw-peer.js";

const waitForAbort = row({
  handle: (_params, { signal }) =>
    new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
});

describe("$/cancel_request", () => {
  it.each(["7", '"seven"', "1.5"])("aborts the request with id %s, which is answered -32800", async (id) => {
    const peer = createRawPeer({ methods: defineMethods({ wait: waitForAbort }) });
    await peer.send(`{"jsonrpc":"2.0","id":${id},"method":"wait"}`);
    expect(peer.lines()).toEqual([]);
    await peer.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":${id}}}`);
    expect(peer.lines()).toEqual([
      `{"jsonrpc":"2.0","id":${id},"error":{"code":-32800,"message":"Request cancelled"}}`,
    ]);
  });

  it("does not keep a handler from answering with its result", async () => {
    const peer = createRawPeer({
      methods: {
        stop: {
          handle: (_params, { signal }) =>
            new Promise((resolve) => signal.addEventListener("abort", () => resolve({ stopReason: "cancelled" }))),
        },
      },
    });
    await peer.send('{"jsonrpc":"2.0","id":1,"method":"stop"}');
    await peer.send('{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}');
    expect(peer.lines()).toEqual(['{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}']);
  });

  it("is sent when the caller aborts, and the caller's promise rejects at once", async () => {
    let aborted = false;
    const { left, right } = createPair(
      {},
      {
        methods: {
          wait: {
            handle: (_params, { signal }) =>
              new Promise((resolve) =>
                signal.addEventListener("abort", () => {
                  aborted = true;
                  resolve("late");
                }),
              ),
          },
        },
      },
    );
    const controller = new AbortController();
    const call = left.request("wait", {}, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("enough")), 5);
    await expect(call).rejects.toMatchObject({ code: "aborted", cause: { message: "enough" } });
    await expect(left.request("wait", {}, { signal: controller.signal })).rejects.toMatchObject({ code: "aborted" });
    await expect.poll(() => aborted, { timeout: 10_000 }).toBe(true);
    await right.close();
  });
});

describe("closing", () => {
  it("aborts the requests being served and rejects the calls being awaited", async () => {
    const { left, right } = createPair(
      {},
      { methods: defineMethods({ wait: waitForAbort }), limits: { endGraceMs: 10 } },
    );
    const call = left.request("wait");
    const rejected = expect(call).rejects.toMatchObject({ code: "closed" });
    await left.close();
    await rejected;
    expect(await left.closed).toBe("closed");
    expect(await right.closed).toBe("input_ended");
    await expect(left.request("wait")).rejects.toMatchObject({ code: "closed" });
  });

  it("lets requests that were read before the input ended finish", async () => {
    const peer = createRawPeer({
      methods: { slow: { handle: () => new Promise((resolve) => setTimeout(resolve, 30, "done")) } },
    });
    peer.toConnection.end('{"jsonrpc":"2.0","id":1,"method":"slow"}');
    expect(await peer.connection.closed).toBe("input_ended");
    expect(peer.lines()).toEqual(['{"jsonrpc":"2.0","id":1,"result":"done"}']);
  });

  it("waits for such requests when the grace is longer than a timer can wait", async () => {
    const peer = createRawPeer({
      methods: { slow: { handle: () => new Promise((resolve) => setTimeout(resolve, 30, "done")) } },
      limits: { endGraceMs: 30 * 24 * 3600 * 1000 },
    });
    peer.toConnection.end('{"jsonrpc":"2.0","id":1,"method":"slow"}');
    expect(await peer.connection.closed).toBe("input_ended");
    expect(peer.lines()).toEqual(['{"jsonrpc":"2.0","id":1,"result":"done"}']);
  });

  it("aborts such requests when they take longer than the grace", async () => {
    const peer = createRawPeer({ methods: defineMethods({ wait: waitForAbort }), limits: { endGraceMs: 10 } });
    peer.toConnection.end('{"jsonrpc":"2.0","id":1,"method":"wait"}\n');
    expect(await peer.connection.closed).toBe("input_ended");
    expect(JSON.parse(peer.lines()[0] ?? "{}")).toMatchObject({ id: 1, error: { code: -32800 } });
  });
});
