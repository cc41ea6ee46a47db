import { expect, expectTypeOf, test } from "vitest";
import { ClientError, createClient, type Input, type Output, type RouteName } from "../src/index.js";

const client = createClient({ url: "http://127.0.0.1:1", retries: 0 });

/** Compiled, and never run. */
async function wrong(): Promise<void> {
  // @ts-expect-error no such route
  await client.call("GET /nowhere", {});
  // @ts-expect-error the path has a parameter
  await client.call("GET /sessions/{id}", {});
  // @ts-expect-error an id is a text
  await client.call("GET /sessions/{id}", { id: 5 });
  // @ts-expect-error a prompt is needed
  await client.call("POST /sessions", { body: {} });
  // @ts-expect-error a body is needed
  await client.call("POST /sessions", {});
  // @ts-expect-error no such field
  await client.call("POST /sessions", { body: { prompt: "hi", modell: "m" } });
  // @ts-expect-error a call does not read the events of a run
  await client.call("POST /runs", { body: { agent_name: "otter", input: [], mode: "stream" } });
  // @ts-expect-error no such mode
  await client.call("PATCH /sessions/{id}", { id: "s", body: { mode: "wild" } });
  // @ts-expect-error no such decision
  await client.sessions.open("s").answer("p", "maybe");
  // @ts-expect-error no such query
  client.sessions.list({ limits: "5" });
  // @ts-expect-error a name is a text
  client.sessions.list({ model: 5 });
  // @ts-expect-error neither yes nor no
  await client.sessions.open("s").changes({ diff: "maybe" });
  const turn = client.sessions.open("s").turn(0);
  // @ts-expect-error a question has no decision
  turn.onQuestion(() => true);
  // @ts-expect-error streams are followed, not called
  await client.call("GET /events", {});
  // @ts-expect-error no such code
  if (new ClientError("gap", "").code === "gaps") return;
  // @ts-expect-error a record of another shape
  for await (const record of client.sessions.open("s").follow()) record.sequence;
}

test("the route determines the types of input and answer", () => {
  expect(wrong).toBeTypeOf("function");
  expectTypeOf<Input<"POST /sessions/{id}/permissions/{pid}">>().toEqualTypeOf<
    { id: string; pid: string } & unknown & {
        body: {
          decision: "allow" | "deny" | "always" | "never";
          choice?: string | undefined;
          shown?: string | undefined;
          reason?: string | undefined;
        };
      }
  >();
  expectTypeOf<Output<"POST /sessions/{id}/cancel">>().toEqualTypeOf<undefined>();
  expectTypeOf<Output<"GET /healthz">>().toEqualTypeOf<{ status: "ok" }>();
  expectTypeOf<RouteName>().toExtend<string>();
});

test("a missing server is an error with a code, after the retries", async () => {
  const retries: number[] = [];
  const patient = createClient({
    url: "http://127.0.0.1:1",
    retries: 2,
    onRetry: ({ attempt }) => retries.push(attempt),
  });
  const error = await patient.health().catch((failure: unknown) => failure);
  expect(error).toBeInstanceOf(ClientError);
  expect(error).toMatchObject({ code: "unreachable", status: 0, retryable: true });
  expect(retries).toEqual([0, 1]);
});

test("a query has numbers and booleans as they are, and nothing that is undefined", async () => {
  const asked: string[] = [];
  const recording: typeof fetch = async (input) => {
    asked.push(String(input).replace("http://127.0.0.1:1", ""));
    return Response.json({ sessions: [], next: null });
  };
  const recorded = createClient({ url: "http://127.0.0.1:1", fetch: recording });
  await recorded.sessions.list({ model: undefined, since: undefined, limit: 3 }).page();
  await recorded.sessions.list({ limit: undefined, state: "live" }).page();
  await recorded.sessions.open("s").changes({ turn: 0, diff: true });
  await recorded.call("GET /sessions", { query: { model: undefined } });
  expect(asked).toEqual([
    "/sessions?limit=3",
    "/sessions?state=live",
    "/sessions/s/changes?turn=0&diff=true",
    "/sessions",
  ]);
});

test.each([
  ["a failure of the server", { error: "turn_running", message: "busy", request_id: "r1" }, "turn_running", "busy"],
  ["one without a message", { error: "internal_error", request_id: "r1" }, "internal_error", "internal_error"],
  ["one of JSON-RPC", { jsonrpc: "2.0", error: { code: -32600, message: "no message" } }, "unexpected", "no message"],
  ["a proxy's own JSON", { error: "Bad Gateway" }, "unexpected", "Bad Gateway"],
  ["an object that says nothing", { error: { code: 1 } }, "unexpected", "502"],
  ["nothing", null, "unexpected", "502"],
  ["a web page", "<h1>502</h1>", "unexpected", "502"],
])("%s is an error with a code of the set and a readable message", async (_, body, code, message) => {
  const answering = async () => new Response(typeof body === "string" ? body : JSON.stringify(body), { status: 502 });
  const answered = createClient({ url: "http://127.0.0.1:1", fetch: answering, retries: 0 });
  await expect(answered.health()).rejects.toMatchObject({ name: "ClientError", status: 502, code, message });
});

test("an aborted call ends with the caller's own reason", async () => {
  const reason = new Error("enough");
  await expect(client.health({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  const stream = client.sessions.open("s").follow({ signal: AbortSignal.abort(reason) });
  await expect(stream.next()).rejects.toBe(reason);
});

test("for a slow consumer little is buffered, because the body is read only as fast", async () => {
  let given = 0;
  const record = (seq: number) =>
    `id: ${seq}\ndata: ${JSON.stringify({ seq, type: "notice", pad: "x".repeat(1000) })}\n\n`;
  let seq = 0;
  const body = () =>
    new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          const chunk = new TextEncoder().encode(Array.from({ length: 64 }, () => record(++seq)).join(""));
          given += chunk.length;
          controller.enqueue(chunk);
        },
      },
      { highWaterMark: 0 },
    );
  const slow = createClient({ url: "http://x", fetch: async () => new Response(body()) });
  let taken = 0;
  for await (const _ of slow.sessions.open("s").follow({ until: "never" })) {
    await new Promise((resolve) => setImmediate(resolve));
    expect(given - ++taken * 1000).toBeLessThan(2 * 1024 * 1024);
    if (taken === 2000) break;
  }
  expect(given).toBeLessThan(taken * 1100 + 2 * 1024 * 1024);
});

test("a gap is an error, but records that the server lost are not a gap", async () => {
  const frames = (...list: object[]) => list.map((data) => `event: x\ndata: ${JSON.stringify(data)}\n\n`).join("");
  const of = (text: string) =>
    createClient({ url: "http://x", fetch: async () => new Response(text) }).sessions.open("s");
  const notice = {
    type: "notice",
    turn: null,
    metadata: { level: "error", text: "lost" },
    missing: { first: 2, last: 4 },
  };
  const seen: number[] = [];
  const losses: unknown[] = [];
  const whole = of(frames({ seq: 1 }, notice, { seq: 5 }, { seq: 5 }, { seq: 7 }));
  const reading = (async () => {
    for await (const { seq } of whole.follow({ onLoss: (loss) => losses.push(loss.missing) })) seen.push(seq);
  })();
  await expect(reading).rejects.toMatchObject({ code: "gap", message: "records 6 to 6 did not come" });
  expect([seen, losses]).toEqual([[1, 5], [{ first: 2, last: 4 }]]);
});
