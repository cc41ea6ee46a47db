import { describe, expect, expectTypeOf, it } from "vitest";
import { defineMethods, RpcError, row, type StandardSchema } from "../src/index.js";
import { createPair } from "../src/testing.js";
import { createRawPeer } from "./raw-peer.js";

/** A hand-written schema. Every library that implements Standard Schema fits the same way. */
function objectWith<K extends string>(key: K, delayed = false): StandardSchema<Record<K, string>, Record<K, string>> {
  const validate = (value: unknown) => {
    const field = (value as Record<string, unknown>)[key];
    if (typeof field === "string") return { value: { [key]: field.trim() } as Record<K, string> };
    return { issues: [{ message: `expected a string, got ${field}`, path: [{ key }] }] };
  };
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) => (delayed ? Promise.resolve(validate(value)) : validate(value)),
    },
  };
}

const protocol = {
  greet: row({ params: objectWith("name"), result: objectWith("text") }),
  log: row({ params: objectWith("line") }),
};

describe("a declaration", () => {
  it("types the handler and the caller", async () => {
    const { left, right } = createPair(
      { peer: protocol },
      {
        methods: defineMethods({
          greet: row({
            ...protocol.greet,
            handle(params) {
              expectTypeOf(params).toEqualTypeOf<Record<"name", string>>();
              return { text: `hello ${params.name}` };
            },
          }),
        }),
      },
    );
    const answer = await left.request("greet", { name: "  Ada " });
    expectTypeOf(answer).toEqualTypeOf<Record<"text", string>>();
    expect(answer).toEqual({ text: "hello Ada" });
    // @ts-expect-error: the peer has no such method
    await expect(left.request("leave")).rejects.toMatchObject({ code: -32601 });
    // @ts-expect-error: params of the wrong type
    await expect(left.request("greet", { name: 1 })).rejects.toMatchObject({ code: -32602 });
    await right.close();
  });

  it("validates the peer's answer", async () => {
    const { left } = createPair({ peer: protocol }, { methods: { greet: { handle: () => ({ text: 5 }) } } });
    await expect(left.request("greet", { name: "x" })).rejects.toMatchObject({
      code: "invalid_result",
      cause: { issues: [{ path: "/text" }] },
    });
    await left.close();
  });
});

describe("invalid params", () => {
  it.each([false, true])(
    "are answered with -32602 and the invalid paths (asynchronous schema: %s)",
    async (delayed) => {
      const peer = createRawPeer({
        methods: defineMethods({ greet: row({ params: objectWith("name", delayed), handle: (params) => params }) }),
      });
      await peer.send(
        '{"jsonrpc":"2.0","id":1,"method":"greet","params":{"name":5}}',
        '{"jsonrpc":"2.0","id":2,"method":"greet"}',
        '{"jsonrpc":"2.0","id":3,"method":"greet","params":null}',
        '{"jsonrpc":"2.0","id":4,"method":"greet","params":"name"}',
        '{"jsonrpc":"2.0","id":5,"method":"greet","params":{"name":"x"}}',
      );
      const answers = peer
        .lines()
        .map((line) => JSON.parse(line))
        .sort((a, b) => a.id - b.id);
      expect(answers.map((answer) => answer.error?.code)).toEqual([-32602, -32602, -32602, -32602, undefined]);
      expect(answers[0].error.data.issues).toEqual([{ path: "/name", message: "expected a string, got 5" }]);
    },
  );
});

describe("a table", () => {
  const named = (name: string) => row({ handle: () => name });
  const call = '{"jsonrpc":"2.0","id":1,"method":"who"}';

  it("can be replaced by one of its handlers, together with its error mapping", async () => {
    const peer = createRawPeer({
      methods: defineMethods({
        latch: row({
          handle: () => {
            peer.connection.use(
              {
                who: {
                  handle: () => {
                    throw new Error("later");
                  },
                },
              },
              (error) => ({ code: -32000, message: String(error), data: { name: "x" } }),
            );
            return "latched";
          },
        }),
      }),
    });
    await peer.send(call, '{"jsonrpc":"2.0","id":2,"method":"latch"}', call);
    const answers = peer.lines().map((line) => JSON.parse(line));
    expect(answers.map(({ error, result }) => error?.code ?? result)).toEqual([-32601, "latched", -32000]);
    expect(answers[2].error).toEqual({ code: -32000, message: "Error: later", data: { name: "x" } });
  });

  it("makes the error for a request without a row", async () => {
    const peer = createRawPeer();
    peer.connection.use({ who: named("row") }, undefined, (method) => new RpcError(-32600, `not yet: ${method}`));
    await peer.send(call, '{"jsonrpc":"2.0","id":2,"method":"session/new"}');
    const answers = peer.lines().map((line) => JSON.parse(line));
    expect(answers.map(({ error, result }) => error ?? result)).toEqual([
      "row",
      { code: -32600, message: "not yet: session/new" },
    ]);
  });

  it("answers a message that has an id and no other, whatever the row is meant for", async () => {
    const seen: unknown[] = [];
    const peer = createRawPeer({
      methods: defineMethods({ tell: row({ handle: (_params, { id }) => void seen.push(id) }) }),
    });
    await peer.send('{"jsonrpc":"2.0","method":"tell"}', '{"jsonrpc":"2.0","id":1,"method":"tell"}');
    expect(seen).toEqual([null, 1]);
    expect(peer.lines()).toEqual(['{"jsonrpc":"2.0","id":1,"result":null}']);
  });
});

describe("a handler that fails", () => {
  it.each([
    ["throws", () => Promise.resolve().then(() => JSON.parse("{"))],
    ["throws nothing useful", () => Promise.reject(undefined)],
    ["returns what JSON cannot hold", () => ({ big: 1n })],
    [
      "returns a cycle",
      () => {
        const cycle: Record<string, unknown> = {};
        cycle["self"] = cycle;
        return cycle;
      },
    ],
    [
      "throws what JSON cannot hold",
      () => {
        throw new RpcError(-32001, "x", { big: 1n });
      },
    ],
  ])("because it %s gets -32603", async (_name, handle) => {
    const peer = createRawPeer({ methods: { fail: { handle } } });
    await peer.send('{"jsonrpc":"2.0","id":1,"method":"fail"}');
    expect(JSON.parse(peer.lines()[0] ?? "{}")).toMatchObject({ id: 1, error: { code: -32603 } });
  });

  it.each([
    ["quotes\nits input", "quotes"],
    ["\r\n", "Error"],
    ["x".repeat(5000), "x".repeat(500)],
    [`x${"😀".repeat(300)}`, `x${"😀".repeat(249)}`],
  ])("with a long message or one of several lines is answered with one sentence", async (message, sentence) => {
    const peer = createRawPeer();
    peer.connection.use({}, undefined, () => new RpcError(-32600, message));
    await peer.send('{"jsonrpc":"2.0","id":1,"method":"who"}');
    expect(JSON.parse(peer.lines()[0] ?? "").error).toEqual({ code: -32600, message: sentence });
  });

  it("in a notification is reported and not answered", async () => {
    const reported: unknown[] = [];
    const peer = createRawPeer({
      onError: (error, { method }) => reported.push(method, (error as Error).message),
      methods: defineMethods({
        tell: row({
          handle: async () => {
            throw new Error("lost");
          },
        }),
      }),
    });
    await peer.send('{"jsonrpc":"2.0","method":"tell"}', '{"jsonrpc":"2.0","method":"nobody"}');
    expect(reported).toEqual(["nobody", "No handler for this notification", "tell", "lost"]);
    expect(peer.lines()).toEqual([]);
  });

  it("is answered even if the error mapping fails too", async () => {
    const peer = createRawPeer({
      methods: {
        fail: {
          handle: () => {
            throw new Error("first");
          },
        },
      },
      mapError: () => {
        throw new Error("second");
      },
    });
    await peer.send('{"jsonrpc":"2.0","id":1,"method":"fail"}');
    expect(JSON.parse(peer.lines()[0] ?? "{}")).toMatchObject({ error: { code: -32603, data: { message: "first" } } });
  });
});
