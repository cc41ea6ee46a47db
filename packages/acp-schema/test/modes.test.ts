import * as v from "valibot";
import { describe, expect, test } from "vitest";
import {
  InitializeRequest,
  NewSessionRequest,
  PromptRequest,
  SessionNotification,
  SetSessionConfigOptionRequest,
  strict,
} from "../src/index.js";

describe("reading", () => {
  test("fills in fields that a client left out", () => {
    expect(v.parse(InitializeRequest, { protocolVersion: 1 })).toEqual({
      protocolVersion: 1,
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        auth: { terminal: false },
      },
    });
  });

  test("treats a malformed capability as absent", () => {
    const { clientCapabilities } = v.parse(InitializeRequest, {
      protocolVersion: 1,
      clientCapabilities: { fs: "yes", terminal: 1, session: { notices: true, compaction: {} } },
    });
    expect(clientCapabilities).toEqual({
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      session: { compaction: {} },
      auth: { terminal: false },
    });
  });

  test("leaves out malformed items, reads null as an empty list, and drops unknown keys", () => {
    expect(v.parse(NewSessionRequest, { cwd: "/w", mcpServers: null, additionalDirectories: null, extra: 1 })).toEqual({
      cwd: "/w",
      mcpServers: [],
      additionalDirectories: [],
    });
    const update = { sessionUpdate: "plan", entries: [{ content: "a", priority: "low", status: "pending" }, 5] };
    expect(v.parse(SessionNotification, { sessionId: "s", update }).update).toEqual({
      sessionUpdate: "plan",
      entries: [{ content: "a", priority: "low", status: "pending" }],
    });
  });

  test.each([
    ["a list in place of an object", PromptRequest, []],
    ["a missing session", PromptRequest, { prompt: [] }],
    ["a prompt with a block of an unknown type", PromptRequest, { sessionId: "s", prompt: [{ type: "smell" }] }],
    ["an unknown update kind", SessionNotification, { sessionId: "s", update: { sessionUpdate: "__proto__" } }],
    [
      "an update named like an inherited key",
      SessionNotification,
      { sessionId: "s", update: { sessionUpdate: "toString" } },
    ],
    ["a boolean option with a text", SetSessionConfigOptionRequest, { sessionId: "s", configId: "c", type: "boolean" }],
    ["null", InitializeRequest, null],
    ["a version that is not an integer", InitializeRequest, { protocolVersion: 1.5 }],
  ])("refuses %s", (_, schema: v.GenericSchema, value) => {
    expect(v.is(schema, value)).toBe(false);
  });

  test("reports the path of the failure", () => {
    const { issues } = v.safeParse(PromptRequest, { sessionId: "s", prompt: [{ type: "image", data: "x" }] });
    expect(issues?.map((issue) => v.getDotPath(issue))).toEqual(["prompt.0.mimeType"]);
  });
});

describe("writing", () => {
  test("returns the same value, including unknown keys", () => {
    const value = { protocolVersion: 1, _meta: { a: 1 } };
    expect(v.parse(strict(InitializeRequest), value)).toBe(value);
  });

  test("repairs nothing", () => {
    expect(v.is(strict(InitializeRequest), { protocolVersion: 1, clientCapabilities: { terminal: 1 } })).toBe(false);
    expect(v.is(strict(NewSessionRequest), { cwd: "/w", mcpServers: null })).toBe(false);
    expect(v.is(strict(SessionNotification), { sessionId: "s", update: { sessionUpdate: "plan", entries: [5] } })).toBe(
      false,
    );
  });

  test("is a Standard Schema, as reading is", async () => {
    const wrong = { protocolVersion: 1, clientCapabilities: 5 };
    expect(await strict(InitializeRequest)["~standard"].validate(wrong)).toHaveProperty("issues.0");
    expect(await InitializeRequest["~standard"].validate(wrong)).not.toHaveProperty("issues");
  });
});
