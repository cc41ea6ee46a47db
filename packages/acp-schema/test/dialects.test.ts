import * as v from "valibot";
import { describe, expect, test } from "vitest";
import * as ferret from "../src/ferret/index.js";
import * as otter from "../src/otter/index.js";

const accepts = (schema: v.GenericSchema | null, value: unknown) => schema !== null && v.is(schema, value);

describe("otter", () => {
  test("exports its revision and the size of its history", () => {
    expect(otter.OTTER_ACP_PROTOCOL_VERSION).toBe(2);
    expect(otter.OTTER_ACP_DEFAULT_HISTORY_SIZE).toBe(1024);
  });

  test("has every method of the dialect", () => {
    expect(Object.keys(otter.agentMethods)).toEqual([
      "initialize",
      "session/new",
      "session/load",
      "session/list",
      "session/get",
      "session/message",
      "session/turn",
      "session/cancel",
      "session/setMode",
      "session/setModel",
      "session/fork",
      "session/resume",
      "permission/respond",
      "tool/approve",
    ]);
  });

  test.each([
    [{}, 0],
    [{ sinceEventId: 7 }, 7],
    [{ sinceEventId: -3 }, 0],
    [{ sinceEventId: "7" }, 0],
    [{ sinceEventId: 1.5 }, 0],
    [{ sinceEventId: null }, 0],
  ])("a resume cursor %j reads as %i", (cursor, sinceEventId) => {
    const params = v.parse(otter.agentMethods["session/resume"].params, { sessionId: "otter-1", ...cursor });
    expect(params).toEqual({ sessionId: "otter-1", sinceEventId });
  });

  test.each([
    { message: "hi" },
    { text: "hi" },
    { content: "hi" },
    { content: { type: "text", text: "hi" } },
    { content: [{ type: "text", text: "hi" }] },
  ])("a message may be %j", (said) => {
    const { params } = otter.agentMethods["session/message"];
    expect(v.parse(params, { sessionId: "s", ...said })).toEqual({ sessionId: "s", ...said });
  });

  test("a message must have a text and a session", () => {
    const { params } = otter.agentMethods["session/message"];
    for (const wrong of [{}, { sessionId: "s" }, { message: "hi" }, { sessionId: "s", message: 5 }, [], null]) {
      expect(accepts(params, wrong)).toBe(false);
    }
  });

  test("updates have one content object and an event id from 1", () => {
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "x" } };
    const { params } = otter.clientMethods["session/update"];
    expect(accepts(params, { sessionId: "s", eventId: 1, update })).toBe(true);
    expect(accepts(params, { sessionId: "s", eventId: 0, update })).toBe(false);
    expect(accepts(params, { sessionId: "s", eventId: 1, update: { ...update, content: [update.content] } })).toBe(
      false,
    );
  });

  test("a turn notification has a record of its type", () => {
    const record = {
      seq: 4,
      id: "evt-0a1b2c3d",
      type: "text_delta",
      turn: 0,
      metadata: { text: "x" },
      ts: "2026-11-16T02:00:00.000Z",
    };
    expect(accepts(otter.clientMethods.textDelta.params, { sessionId: "s", ...record })).toBe(true);
    expect(accepts(otter.clientMethods.toolCall.params, { sessionId: "s", ...record })).toBe(false);
    for (const [method, type] of Object.entries(otter.turnNotifications)) {
      const { params } = otter.clientMethods[method as keyof typeof otter.turnNotifications];
      expect(params.entries.type.literal).toBe(type);
    }
  });

  test("there are three permission replies", () => {
    const { params } = otter.agentMethods["permission/respond"];
    expect(accepts(params, { requestId: "r1", reply: "always" })).toBe(true);
    expect(accepts(params, { requestId: "r1", reply: "never" })).toBe(false);
  });
});

describe("ferret", () => {
  test("has otter's rows and its own", () => {
    const own = ["session/setSandbox", "session/setApproval", "session/bridgeStatus"];
    expect(Object.keys(ferret.agentMethods).sort()).toEqual([...Object.keys(otter.agentMethods), ...own].sort());
    expect(ferret.agentMethods["session/new"]).toBe(otter.agentMethods["session/new"]);
    expect(Object.keys(ferret.Capabilities.entries)).toEqual(
      expect.arrayContaining(Object.keys(otter.Capabilities.entries)),
    );
  });

  test("has twelve kinds", () => {
    expect(Object.keys(ferret.kinds)).toHaveLength(12);
    expect(ferret.SessionNotification.options).toHaveLength(12);
  });

  test("a frame is flat and also has otter's update", () => {
    const update = {
      sessionUpdate: "permission_request",
      requestId: "perm-7",
      tool: "Bash",
      input: {},
      options: ["allow"],
    };
    const frame = {
      sessionId: "s",
      eventId: 3,
      kind: "permission_request",
      id: "perm-7",
      tool: "Bash",
      args: {},
      risk: "medium",
      content: [{ type: "text", text: "git push" }],
      shown: "digest of the content",
      update,
    };
    expect(v.parse(ferret.SessionNotification, frame)).toEqual(frame);
    expect(v.is(ferret.SessionNotification, { ...frame, risk: "sure" })).toBe(false);
    expect(v.is(ferret.SessionNotification, { ...frame, content: "git push" })).toBe(false);
    expect(v.is(otter.SessionNotification, frame)).toBe(true);
  });

  test("accepts both forms of a permission answer", () => {
    const { params } = ferret.agentMethods["permission/respond"];
    expect(accepts(params, { sessionId: "s", id: "perm-7", decision: "never" })).toBe(true);
    expect(accepts(params, { requestId: "r1", reply: "allow" })).toBe(true);
    expect(accepts(params, { id: "perm-7", decision: "never" })).toBe(false);
  });

  test("validates sandbox, approval and bridge requests", () => {
    const { result } = ferret.agentMethods["session/setSandbox"];
    expect(accepts(result, { mode: "read-only" })).toBe(true);
    const bridge = ferret.agentMethods["session/bridgeStatus"].result;
    expect(accepts(bridge, { attached: false })).toBe(true);
    expect(accepts(bridge, { attached: true })).toBe(false);
    expect(accepts(ferret.agentMethods["session/setApproval"].params, { sessionId: "s", preset: "sometimes" })).toBe(
      false,
    );
  });
});
