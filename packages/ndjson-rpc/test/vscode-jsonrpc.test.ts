import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createConnection } from "../src/index.js";
import { createNdjsonMessageConnection } from "../src/vscode-jsonrpc.js";

it("a vscode-jsonrpc connection and an ndjson-rpc one talk in both directions, with malformed lines answered", async () => {
  const toVscode = new PassThrough();
  const toOurs = new PassThrough();
  let raw = "";
  toOurs.on("data", (chunk) => {
    raw += chunk;
  });
  const theirs = createNdjsonMessageConnection(toVscode, toOurs);
  theirs.onRequest("add", ({ a, b }: { a: number; b: number }) => a + b);
  theirs.listen();
  const ours = createConnection({
    input: toOurs,
    output: toVscode,
    methods: { greet: { handle: (params) => ({ hello: params }) } },
  });

  expect(await ours.request("add", { a: 1, b: 2 })).toBe(3);
  expect(await theirs.sendRequest("greet", { name: "x" })).toEqual({ hello: { name: "x" } });
  ours.notifyEncoded("{");
  ours.notifyEncoded("[]");
  ours.notify("$/cancelRequest");
  expect(await ours.request("add", { a: 2, b: 2 })).toBe(4);
  const codes = raw.split("\n").flatMap((line) => (line.includes('"error"') ? [JSON.parse(line).error.code] : []));
  expect(codes).toEqual([-32700, -32600]);

  const closed = new Promise<void>((resolve) => theirs.onClose(() => resolve()));
  await ours.close();
  await closed;
});
