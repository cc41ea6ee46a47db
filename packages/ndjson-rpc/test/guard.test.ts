import { describe, expect, it } from "vitest";
import { defineMethods, row } from "../src/index.js";
import { createRawPeer } from "./raw-peer.js";

const methods = defineMethods({ echo: row({ handle: (params) => params }) });

async function answersTo(...lines: (string | Uint8Array)[]): Promise<string[]> {
  const peer = createRawPeer({ methods });
  await peer.send(...lines);
  return peer.lines();
}

async function errorOf(line: string): Promise<[number, unknown]> {
  const [answer, ...more] = await answersTo(line);
  expect(more).toEqual([]);
  const { error, id } = JSON.parse(answer ?? "{}");
  return [error?.code, id];
}

describe("ids", () => {
  it.each([
    "0",
    "7",
    "-1",
    "1.0",
    "1.5",
    "1e3",
    "1E+3",
    "-0",
    "9007199254740993",
    "12345678901234567890",
    "0.1000000000000000055511151231257827",
    '"abc"',
    '""',
    '"1"',
    "null",
  ])("%s comes back byte-identical", async (id) => {
    const layouts = [
      `{"jsonrpc":"2.0","id":${id},"method":"echo"}`,
      `{"jsonrpc": "2.0", "method": "echo", "params": {"id": 5, "s": "\\"id\\":6"}, "id" : ${id} }`,
      `{"id":1,"\\u0069d":${id},"method":"echo","jsonrpc":"2.0"}`,
      `{"jsonrpc":"2.0","id":${id}}`,
    ];
    for (const answer of await answersTo(...layouts)) expect(answer).toContain(`"id":${id},`);
  });

  it("may be the same for two running requests, and both are answered", async () => {
    const line = '{"jsonrpc":"2.0","id":1,"method":"echo","params":[]}';
    expect(await answersTo(line, line)).toHaveLength(2);
  });
});

describe("lines that are JSON but not a message", () => {
  it.each([
    ["5", null],
    ['"text"', null],
    ["null", null],
    ["true", null],
    ["{}", null],
    ["[]", null],
    ['[{"jsonrpc":"2.0","id":1,"method":"echo"},{"jsonrpc":"2.0","id":2,"method":"echo"}]', null],
    ['{"jsonrpc":"1.0","id":3,"method":"echo"}', 3],
    ['{"jsonrpc":2.0,"id":3,"method":"echo"}', 3],
    ['{"id":3,"method":"echo"}', 3],
    ['{"jsonrpc":"2.0","id":3}', 3],
    ['{"jsonrpc":"2.0","id":"x","method":1}', "x"],
    ['{"jsonrpc":"2.0","id":[],"method":"echo"}', null],
    ['{"jsonrpc":"2.0","id":{},"method":"echo"}', null],
    ['{"jsonrpc":"2.0","id":true,"method":"echo"}', null],
    ['{"jsonrpc":"2.0","id":3,"method":"echo","result":1}', 3],
    ['{"jsonrpc":"1.0","id":3,"result":1}', null],
    ['{"jsonrpc":"2.0","result":1}', null],
    ['{"__proto__":{"jsonrpc":"2.0","id":1,"method":"echo"}}', null],
  ])("%s gets -32600", async (line, id) => {
    expect(await errorOf(line)).toEqual([-32600, id]);
  });
});

describe("lines that get no answer", () => {
  it.each([
    "",
    "   ",
    "\t\r",
    '{"jsonrpc":"2.0","method":"unknown"}',
    '{"jsonrpc":"2.0","method":"echo","params":7}',
    '{"jsonrpc":"2.0","id":99,"result":{}}',
    '{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"x"}}',
    '{"jsonrpc":"2.0","id":null,"error":null}',
    '{"jsonrpc":"2.0","method":"$/cancel_request"}',
    '{"jsonrpc":"2.0","method":"$/cancel_request","params":null}',
    '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{}}}',
  ])("%j", async (line) => {
    expect(await answersTo(line)).toEqual([]);
  });
});

describe("method names", () => {
  it.each(["__proto__", "constructor", "toString", "hasOwnProperty", "echo ", "Echo", "echo\\u0000", "a/../echo", ""])(
    "%j is unknown",
    async (method) => {
      expect(await errorOf(`{"jsonrpc":"2.0","id":1,"method":"${method}"}`)).toEqual([-32601, 1]);
    },
  );
});

it.each(["__proto__", "__pr\\u006fto__"])("an own key %s never reaches a handler", async (key) => {
  const line = `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":{"${key}":{"polluted":true},"b":1}}}`;
  expect(await answersTo(line)).toEqual(['{"jsonrpc":"2.0","id":1,"result":{"a":{"b":1}}}']);
});

describe("nesting", () => {
  const nested = (levels: number) =>
    `{"jsonrpc":"2.0","id":1,"method":"echo","params":${"[".repeat(levels)}${"]".repeat(levels)}}`;
  const nestedObjects = (levels: number) =>
    `{"jsonrpc":"2.0","id":1,"method":"echo","params":${'{"a":'.repeat(levels)}0${"}".repeat(levels)}}`;

  it("of 64 levels is read, and of 65 levels is refused", async () => {
    for (const build of [nested, nestedObjects]) {
      expect(await errorOf(build(63))).toEqual([undefined, 1]);
      expect(await errorOf(build(64))).toEqual([-32700, null]);
    }
  });

  it("inside strings does not count", async () => {
    const text = `\\"${"[{".repeat(500)}`;
    expect(await errorOf(`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"${text}"}}`)).toEqual([
      undefined,
      1,
    ]);
  });

  it("of a million levels is refused at once", async () => {
    expect(await errorOf("[".repeat(1_000_000))).toEqual([-32700, null]);
    expect(await errorOf(nested(1_000_000))).toEqual([-32700, null]);
  });
});

it("takes the last of duplicate keys, as JSON.parse does", async () => {
  expect(await answersTo('{"jsonrpc":"2.0","id":1,"id":2,"method":"x","method":"echo"}')).toEqual([
    '{"jsonrpc":"2.0","id":2,"result":{}}',
  ]);
});
