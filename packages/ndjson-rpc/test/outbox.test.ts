import { PassThrough, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { createConnection } from "../src/index.js";

/** An output that completes a write only when the test says so. */
function createSlowOutput() {
  const taken: string[] = [];
  const held: (() => void)[] = [];
  const output = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      taken.push(chunk);
      held.push(done);
    },
  });
  return { output, taken, release: () => held.shift()?.() };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("the writer", () => {
  it("puts the lines of one tick into one write, in order", async () => {
    const { output, taken, release } = createSlowOutput();
    const connection = createConnection({ input: new PassThrough(), output });
    connection.notify("a");
    connection.notifyEncoded('{"jsonrpc":"2.0","method":"b"}');
    void connection.request("c").catch(() => {});
    await turn();
    expect(taken).toEqual([
      '{"jsonrpc":"2.0","method":"a"}\n{"jsonrpc":"2.0","method":"b"}\n{"jsonrpc":"2.0","id":1,"method":"c"}\n',
    ]);
    release();
  });

  it("lets callers wait for room, and counts the output that is not taken yet", async () => {
    const { output, release } = createSlowOutput();
    const connection = createConnection({ input: new PassThrough(), output, limits: { highWaterBytes: 100 } });
    await connection.drained();
    connection.notifyEncoded("x".repeat(200));
    expect(connection.bufferedBytes).toBe(201);
    let drained = false;
    const waiting = connection.drained().then(() => {
      drained = true;
    });
    await turn();
    expect(drained).toBe(false);
    release();
    await waiting;
    expect(connection.bufferedBytes).toBe(0);
  });

  it("stops reading from a peer that does not read, and continues when it does", async () => {
    const { output, release } = createSlowOutput();
    const input = new PassThrough();
    const connection = createConnection({
      input,
      output,
      methods: { echo: { handle: (params) => params } },
      limits: { highWaterBytes: 100, pauseInputBytes: 1000 },
    });
    input.write(`{"jsonrpc":"2.0","id":1,"method":"echo","params":["${"x".repeat(2000)}"]}\n`);
    await turn();
    await turn();
    expect(input.isPaused()).toBe(true);
    release();
    await expect.poll(() => input.isPaused(), { timeout: 10_000 }).toBe(false);
    expect(connection.bufferedBytes).toBe(0);
  });

  it("closes the connection when the output breaks", async () => {
    const output = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(), { code: "EPIPE" })),
    });
    const connection = createConnection({ input: new PassThrough(), output });
    const call = connection.request("x");
    const rejected = expect(call).rejects.toMatchObject({ code: "closed" });
    expect(await connection.closed).toBe("output_failed");
    await rejected;
    connection.notify("ignored");
    expect(connection.bufferedBytes).toBe(0);
    await connection.drained();
  });

  it("stops waiting for a stalled reader", async () => {
    const { output } = createSlowOutput();
    const connection = createConnection({ input: new PassThrough(), output, limits: { endGraceMs: 20 } });
    connection.notify("never taken");
    await connection.close();
    expect(await connection.closed).toBe("closed");
  });

  it("refuses values that JSON cannot hold, without touching the stream", async () => {
    const { output, taken } = createSlowOutput();
    const connection = createConnection({ input: new PassThrough(), output });
    expect(() => connection.notify("x", { big: 1n })).toThrowError(expect.objectContaining({ code: "unserializable" }));
    await expect(connection.request("x", { big: 1n })).rejects.toMatchObject({ code: "unserializable" });
    await turn();
    expect(taken).toEqual([]);
  });
});
