import { isRpcError } from "@chimera/ndjson-rpc";
import { describe, expect, test } from "vitest";
import { METHODS as NATIVE } from "../src/native/methods.js";
import { requireAllowed } from "../src/remote.js";
import type { MethodTraits } from "../src/row.js";
import { METHODS as STANDARD } from "../src/standard/methods.js";

/** The rows of all dialects, with those that a program adds. */
const rows: MethodTraits = {
  ...STANDARD,
  ...NATIVE,
  initialize: { remote: ["own_hands"] },
  "session/resume": STANDARD["session/resume"],
  "session/setApproval": { remote: ["own", "narrower_approval"] },
  "session/setSandbox": { remote: ["own"] },
};
const session = { id: "s", facts: () => ({ mode: "review", approval: "auto" }) };
const admit = (method: string, params: unknown) => {
  const rules = Object.hasOwn(rows, method) ? rows[method]?.remote : undefined;
  return requireAllowed(session, { method, params, rules });
};
const prompt = (text: string) => ({ sessionId: "s", prompt: [{ type: "text", text }] });

describe("a remote may", () => {
  const admitted: [method: string, params: unknown][] = [
    ["initialize", undefined],
    ["initialize", { protocolVersion: 1, clientCapabilities: { fs: { readTextFile: false }, terminal: false } }],
    ["session/resume", { sessionId: "s", cwd: "/w" }],
    ["_chimera.dev/session/replay", { sessionId: "s", sinceEventId: 3 }],
    ["session/prompt", prompt("hello")],
    ["session/prompt", prompt("/etc/hosts is wrong, fix it")],
    ["session/prompt", prompt("/undo 2")],
    ["session/message", { sessionId: "s", message: "/cost" }],
    ["session/cancel", { sessionId: "s" }],
    ["session/set_mode", { sessionId: "s", modeId: "read-only" }],
    ["session/set_mode", { sessionId: "s", modeId: "review" }],
    ["session/setApproval", { sessionId: "s", preset: "read-only" }],
    ["session/setSandbox", { sessionId: "s" }],
    ["session/set_model", { sessionId: "s", modelId: "claude-opus" }],
    ["session/set_config_option", { sessionId: "s", configId: "model", value: "x" }],
    ["session/set_config_option", { sessionId: "s", configId: "read_only", value: true }],
    ["permission/respond", { sessionId: "s", id: "perm-1", decision: "allow" }],
  ];
  test.each(admitted)("%s %j", async (method, params) => {
    await expect(admit(method, params)).resolves.toBeUndefined();
  });
});

describe("a remote may not", () => {
  const refused: [method: string, params: unknown][] = [
    ["session/new", { cwd: "/" }],
    ["session/list", {}],
    ["session/fork", { sessionId: "s" }],
    ["session/delete", { sessionId: "s" }],
    ["session/close", { sessionId: "s" }],
    ["session/setMode", { sessionId: "s", mode: "build" }],
    ["constructor", {}],
    ["__proto__", {}],
    ["some/method-of-tomorrow", { sessionId: "s" }],
    ["session/prompt", { ...prompt("hello"), sessionId: "other" }],
    ["session/prompt", null],
    ["session/resume", { sessionId: "s", mcpServers: [] }],
    ["session/load", { sessionId: "s", mcpServers: [{ name: "x", command: "sh", args: [], env: [] }] }],
    ["session/resume", { sessionId: "s", additionalDirectories: ["/"] }],
    ["initialize", { protocolVersion: 1, clientCapabilities: { terminal: true } }],
    ["initialize", { protocolVersion: 1, clientCapabilities: { fs: { writeTextFile: true } } }],
    ["session/prompt", prompt("/approval full")],
    ["session/prompt", prompt("  /mode auto")],
    ["session/prompt", prompt("/sandbox")],
    ["session/prompt", prompt("/new")],
    [
      "session/prompt",
      {
        sessionId: "s",
        prompt: [
          { type: "text", text: "" },
          { type: "text", text: "/mode auto" },
        ],
      },
    ],
    ["session/message", { sessionId: "s", content: "/mode auto" }],
    ["session/message", { sessionId: "s", content: { type: "text", text: "/mode auto" } }],
    ["session/message", { sessionId: "s", text: "/mode\tauto" }],
    ["session/turn", { sessionId: "s", prompt: "/sessions" }],
    ["session/set_mode", { sessionId: "s", modeId: "auto" }],
    ["session/set_mode", { sessionId: "s", modeId: "AUTO" }],
    ["session/set_mode", { sessionId: "s", modeId: " auto" }],
    ["session/set_mode", { sessionId: "s" }],
    ["session/setApproval", { sessionId: "s", preset: "full" }],
    ["session/set_config_option", { sessionId: "s", configId: "approval", value: "full" }],
    ["session/set_config_option", { sessionId: "s", configId: "mode", value: "auto" }],
    ["session/set_config_option", { sessionId: "s", configId: "sandbox", value: "off" }],
    ["session/set_config_option", { sessionId: "s", configId: "agent", value: "build" }],
    ["session/set_config_option", { sessionId: "s", configId: "model", value: "scripted:/etc/passwd" }],
    ["session/set_model", { sessionId: "s", modelId: " Scripted:/etc/passwd" }],
    ["session/setModel", { sessionId: "s", model: "scripted:/etc/passwd" }],
    ["session/prompt", prompt("/model scripted:/etc/passwd")],
    ["session/set_config_option", { sessionId: "s", configId: "auto_approve_execute", value: true }],
    ["session/set_config_option", { sessionId: "s", configId: "auto_approve_writes", value: "false" }],
    ["session/set_config_option", { sessionId: "s", configId: "read_only", value: false }],
    ["session/set_config_option", { sessionId: "s", configId: "__proto__", value: "x" }],
    ["permission/respond", { requestId: "perm-1", reply: "allow" }],
  ];
  test.each(refused)("%s %j", async (method, params) => {
    const error = await admit(method, params).catch((refusal: unknown) => refusal);
    expect(isRpcError(error) && error.message).toMatch(/^refused for a remote: ./);
  });
});
