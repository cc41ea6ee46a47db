import { describe, expect, test } from "vitest";
import { type ChoiceContext, chooseDialect } from "../src/index.js";
import { connect, makeEngine, saying } from "./harness.js";

const auto: ChoiceContext = {
  forced: null,
  names: ["acp", "otter", "ferret"],
  native: { name: "otter", version: "0.1" },
};
const meta = (dialect: unknown) => ({ _meta: { "chimera.dev/dialect": dialect } });

describe("the seven rules of the choice", () => {
  test.each([
    // 1. forced
    [{ ...auto, forced: "acp" }, {}, "acp", false],
    [{ ...auto, forced: "ferret" }, { protocolVersion: 1 }, "ferret", false],
    [{ ...auto, forced: "otter" }, [], "otter", false],
    [{ ...auto, forced: "otter" }, { protocolVersion: 2 }, "otter", true],
    // 3. named
    [auto, meta("acp"), "acp", false],
    [auto, { protocolVersion: 1, ...meta("ferret") }, "ferret", false],
    [auto, { protocolVersion: 2, ...meta("otter") }, "otter", true],
    [auto, { protocolVersion: 1, _meta: { traceparent: "x" } }, "acp", false],
    [auto, { protocolVersion: 1, _meta: null }, "acp", false],
    // 4. an integer
    [auto, { protocolVersion: 0 }, "acp", false],
    [auto, { protocolVersion: 1 }, "acp", false],
    [auto, { protocolVersion: 65535, info: { name: "x", version: "1" } }, "acp", false],
    [auto, { protocolVersion: 2 }, "otter", true],
    [{ ...auto, native: { name: "ferret", version: "0.2" } }, { protocolVersion: 2 }, "ferret", true],
    [auto, { protocolVersion: 2, info: { name: "x", version: "1" } }, "acp", false],
    [auto, { protocolVersion: 2, capabilities: {} }, "acp", false],
    [auto, { protocolVersion: 2, clientInfo: {} }, "acp", false],
    [auto, { protocolVersion: 2, clientCapabilities: {} }, "acp", false],
    // 5. a string of the native kind
    [auto, { protocolVersion: "0.1" }, "otter", false],
    [auto, { protocolVersion: "0.2.7" }, "otter", false],
    // 6. absent
    [auto, undefined, "otter", false],
    [auto, null, "otter", false],
    [auto, {}, "otter", false],
    [auto, { protocolVersion: null, clientInfo: { name: "x" } }, "otter", false],
  ] as const)("%j %j -> %s, revision 2: %s", (context, params, dialect, revision2) => {
    expect(chooseDialect(params, context)).toEqual({ ok: true, dialect, revision2 });
  });

  test.each([
    // 2. not an object
    [[]],
    ["hello"],
    [7],
    [true],
    // 3. an unknown name
    [meta("klingon")],
    [meta(null)],
    [meta({})],
    [meta("__proto__")],
    // 6. an ACP client without a version
    [{ clientCapabilities: {} }],
    [{ info: { name: "x", version: "1" } }],
    // 7. anything else
    [{ protocolVersion: "1" }],
    [{ protocolVersion: "2025-06-18" }],
    [{ protocolVersion: 1.5 }],
    [{ protocolVersion: -1 }],
    [{ protocolVersion: 65536 }],
    [{ protocolVersion: true }],
    [{ protocolVersion: {} }],
    [{ protocolVersion: "0." }],
    [{ protocolVersion: `0.${"1".repeat(9999)}` }],
  ])("%j is refused", (params) => {
    expect(chooseDialect(params, auto).ok).toBe(false);
  });
});

describe("a connection", () => {
  const server = (options = {}) => connect(makeEngine(saying("hi")), options);

  test("a refused initialize leaves the connection open, and its error names the supported versions", async () => {
    const client = server();
    const refused = await client.call("initialize", { protocolVersion: "2025-06-18" });
    expect(refused.error).toMatchObject({ code: -32602, data: { supported: [1], dialects: ["0.1"] } });
    expect((await client.call("initialize", { protocolVersion: 1 })).result).toMatchObject({ protocolVersion: 1 });
  });

  test("requests before initialize get -32600, notifications get no answer", async () => {
    const client = server();
    client.notify("session/cancel", { sessionId: "x" });
    expect((await client.call("session/new", { cwd: "/", mcpServers: [] })).error?.code).toBe(-32600);
    expect(client.frames).toHaveLength(1);
  });

  test("a second initialize gets -32600 and changes nothing", async () => {
    const client = server();
    await client.call("initialize", { protocolVersion: 1 });
    expect((await client.call("initialize", {})).error?.code).toBe(-32600);
    expect((await client.call("session/list", {})).result).toEqual({ sessions: [] });
  });

  test.each([
    [{ protocolVersion: 1 }, "session/message", "otter"],
    [{ protocolVersion: 1 }, "permission/respond", "otter"],
    [{}, "session/prompt", "acp"],
    [{}, "session/set_mode", "acp"],
  ])("after %j, %s is -32601 with a hint at %s", async (hello, method, dialect) => {
    const client = server();
    await client.call("initialize", hello);
    const { error } = await client.call(method, {});
    expect(error).toMatchObject({ code: -32601, data: { hint: expect.stringContaining(dialect) } });
  });

  test("a forced native dialect serves requests before initialize", async () => {
    const client = server({ forced: "otter" });
    expect((await client.call("session/new", {})).result).toHaveProperty("sessionId");
    expect((await client.call("initialize", {})).result).toMatchObject({ protocolVersion: "0.1" });
  });

  test.each([[{}], [null], [[]], [{ protocolVersion: "x" }], [{ clientCapabilities: "all" }]])(
    "forced standard ACP serves a client whose initialize has the params %j",
    async (hello) => {
      const client = server({ forced: "acp" });
      expect((await client.call("initialize", hello)).result).toMatchObject({ protocolVersion: 1 });
      expect((await client.call("session/list", {})).result).toEqual({ sessions: [] });
    },
  );

  test("the native welcome carries both documented blocks", async () => {
    const client = server();
    const { result } = await client.call("initialize", {});
    expect(result).toEqual({
      protocolVersion: "0.1",
      serverInfo: { name: "otter-acp", version: "1.2.3" },
      agentInfo: { name: "otter", version: "1.2.3" },
      capabilities: { sessionFork: true, sessionList: true, permissionRequest: true, thinking: false, vision: false },
      agentCapabilities: {
        promptCapabilities: { text: true },
        sessionCapabilities: { cancel: true, resume: true },
        toolApproval: true,
        eventIds: true,
      },
    });
    expect((await server().call("initialize", { protocolVersion: 2 })).result).toMatchObject({ protocolVersion: 2 });
  });
});
