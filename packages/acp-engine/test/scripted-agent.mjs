#!/usr/bin/env node
// An ACP agent for tests. Its prompts are orders to send text, write files, ask questions or misbehave. It keeps its sessions in files.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";

const state = process.env.SCRIPTED_STATE;
const can = new Set((process.env.SCRIPTED_CAN ?? "resume,load,close").split(","));
const sessions = new Map();
const waiting = new Map();
let nextId = 1;

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (sessionId, one) => send({ method: "session/update", params: { sessionId, update: one } });
const say = (sessionId, text, more = {}) =>
  update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, ...more });
const ask = (method, params) =>
  new Promise((done) => {
    const id = `q${nextId++}`;
    waiting.set(id, done);
    send({ id, method, params });
  });
const elicit = async ({ id: sessionId }, requestedSchema) => {
  const asked = { sessionId, mode: "form", message: "What shall it be?", requestedSchema };
  const { result, error } = await ask("elicitation/create", asked);
  say(sessionId, JSON.stringify(result ?? error));
};
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const file = (id) => join(state, `${id}.json`);
const keep = (session) => {
  if (state) writeFileSync(file(session.id), JSON.stringify(session.said));
};

const MODES = {
  currentModeId: "default",
  availableModes: [
    { id: "default", name: "Default" },
    { id: "plan", name: "Plan" },
  ],
};
const OPTIONS = () => [
  {
    type: "select",
    id: "thinking",
    name: "Thinking",
    currentValue: process.env.SCRIPTED_THINKING ?? "low",
    options: [
      { value: "low", name: "Low" },
      { value: "high", name: "High" },
    ],
  },
];
const OPTION_KINDS = [
  { optionId: "once", name: "Yes, once", kind: "allow_once" },
  { optionId: "project", name: "Yes, for this project", kind: "allow_always" },
  { optionId: "user", name: "Yes, for this user", kind: "allow_always" },
  { optionId: "no", name: "No", kind: "reject_once" },
];

/** The orders by the first word of a line of the prompt. */
const ORDERS = {
  say: async (session, text) => say(session.id, text),
  hangup: async () => {
    process.stdout.end();
    await sleep(60_000);
  },
  messages: async (session) => {
    for (const [messageId, text] of [
      ["one", "A warn"],
      ["one", "ing."],
      ["two", "The answer."],
    ])
      say(session.id, text, { messageId });
  },
  field: async (session, name) => {
    await elicit(session, { type: "object", properties: { [name]: { type: "string" } }, required: [name] });
  },
  form: async (session) => {
    const properties = {
      colour: {
        type: "string",
        title: "Colour",
        oneOf: [
          { const: "r", title: "red" },
          { const: "b", title: "blue" },
        ],
      },
      count: { type: "integer" },
      sure: { type: "boolean" },
    };
    await elicit(session, { type: "object", properties, required: ["colour", "count"] });
  },
  recall: async (session) => say(session.id, session.said.join("|")),
  flood: async (session, count) => {
    for (let i = 0; i < Number(count); i++) say(session.id, `${i} `);
  },
  think: async (session, text) =>
    update(session.id, { sessionUpdate: "agent_thought_chunk", content: { type: "text", text } }),
  image: async (session) =>
    update(session.id, {
      sessionUpdate: "agent_message_chunk",
      content: { type: "image", data: "aGk=", mimeType: "image/png" },
    }),
  write: async (session, text) => {
    const [path, ...words] = text.split(" ");
    const id = `w${nextId++}`;
    const whole = resolve(session.cwd, path);
    update(session.id, {
      sessionUpdate: "tool_call",
      toolCallId: id,
      title: `Write ${path}`,
      kind: "edit",
      status: "in_progress",
      rawInput: { path },
    });
    mkdirSync(dirname(whole), { recursive: true });
    const oldText = existsSync(whole) ? readFileSync(whole, "utf8") : null;
    writeFileSync(whole, words.join(" "));
    update(session.id, {
      sessionUpdate: "tool_call_update",
      toolCallId: id,
      status: "completed",
      content: [{ type: "diff", path: whole, oldText, newText: words.join(" ") }],
    });
  },
  read: async (session, path) => {
    try {
      say(session.id, readFileSync(resolve(session.cwd, path), "utf8"));
    } catch ({ code }) {
      say(session.id, code);
    }
  },
  late: async (session) => {
    update(session.id, { sessionUpdate: "tool_call", toolCallId: "late", title: "Preparing", rawInput: {} });
    update(session.id, {
      sessionUpdate: "tool_call_update",
      toolCallId: "late",
      rawInput: { command: "ls" },
      kind: "execute",
    });
    update(session.id, { sessionUpdate: "tool_call_update", toolCallId: "late", title: "ls" });
    for (const text of ["a", "a\nb"])
      update(session.id, {
        sessionUpdate: "tool_call_update",
        toolCallId: "late",
        status: "in_progress",
        content: [{ type: "content", content: { type: "text", text } }],
      });
    update(session.id, { sessionUpdate: "tool_call_update", toolCallId: "late", status: "completed" });
    update(session.id, { sessionUpdate: "tool_call_update", toolCallId: "late", title: "after its end" });
  },
  permission: async (session, path) => {
    const answer = await ask("session/request_permission", {
      sessionId: session.id,
      toolCall: {
        toolCallId: `p${nextId++}`,
        title: `Write ${path}`,
        kind: "edit",
        rawInput: { path },
        locations: [{ path }],
      },
      options: process.env.SCRIPTED_NO_REJECT ? OPTION_KINDS.slice(0, 1) : OPTION_KINDS,
    });
    say(session.id, JSON.stringify(answer.result?.outcome ?? answer.error));
  },
  reuse: async (session, command) => {
    const call = { toolCallId: "call_0" };
    update(session.id, { sessionUpdate: "tool_call", ...call, title: "Read", kind: "read", rawInput: { path: "a" } });
    update(session.id, { sessionUpdate: "tool_call_update", ...call, status: "completed" });
    const toolCall = { ...call, title: command, kind: "execute", rawInput: { command } };
    const { result } = await ask("session/request_permission", {
      sessionId: session.id,
      toolCall,
      options: OPTION_KINDS,
    });
    say(session.id, JSON.stringify(result.outcome));
  },
  run: async (session, ms) => {
    const id = `r${nextId++}`;
    update(session.id, {
      sessionUpdate: "tool_call",
      toolCallId: id,
      title: "sleep",
      kind: "execute",
      status: "in_progress",
      rawInput: { command: ["sleep", ms] },
    });
    await sleep(Number(ms));
    update(session.id, {
      sessionUpdate: "tool_call_update",
      toolCallId: id,
      status: "completed",
      rawOutput: { stdout: "slept" },
    });
  },
  progress: async (session, text) => {
    const call = { toolCallId: `o${nextId++}` };
    update(session.id, { sessionUpdate: "tool_call", ...call, title: "make", kind: "execute", status: "in_progress" });
    for (const data of text)
      update(session.id, { sessionUpdate: "tool_call_update", ...call, _meta: { terminal_output: { data } } });
    update(session.id, { sessionUpdate: "tool_call_update", ...call, status: "completed" });
  },
  sleep: async (_session, ms) => sleep(Number(ms)),
  hang: async (session) => {
    session.ignoresCancel = true;
    await new Promise(() => {});
  },
  plan: async (session) =>
    update(session.id, { sessionUpdate: "plan", entries: [{ content: "one", priority: "high", status: "pending" }] }),
  usage: async (session, cost) =>
    update(session.id, {
      sessionUpdate: "usage_update",
      used: 10,
      size: 100,
      cost: { amount: Number(cost), currency: "USD" },
    }),
  commands: async (session) =>
    update(session.id, {
      sessionUpdate: "available_commands_update",
      availableCommands: [{ name: "review", description: "Reviews", input: { hint: "what" } }],
    }),
  mode: async (session, id) => update(session.id, { sessionUpdate: "current_mode_update", currentModeId: id }),
  title: async (session, title) => update(session.id, { sessionUpdate: "session_info_update", title }),
  notice: async (session, title) => update(session.id, { sessionUpdate: "notice", severity: "warning", title }),
  unknown: async (session) => update(session.id, { sessionUpdate: "hologram", depth: 3 }),
  kind: async (session, kind) =>
    update(session.id, { sessionUpdate: kind, content: { type: "text", text: "from nowhere" } }),
  again: async (session) => {
    for (let i = 0; i < 2; i++) {
      update(session.id, { sessionUpdate: "tool_call", toolCallId: "same", title: `call ${i}`, kind: "read" });
      update(session.id, { sessionUpdate: "tool_call_update", toolCallId: "same", status: "completed" });
    }
  },
  dangling: async (session) =>
    update(session.id, { sessionUpdate: "tool_call", toolCallId: `d${nextId++}`, title: "never ends", kind: "edit" }),
  stranger: async () => say("no-such-session", "not for you"),
  junk: async () => {
    process.stdout.write('this is not JSON\n[1,2,3]\n{"jsonrpc":"2.0","id":"nobody","result":{}}\n\u0000\n');
    process.stdout.write('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":5}}\n');
    process.stdout.write('{"jsonrpc":"2.0","method":"session/update","params":null}\n');
  },
  bigline: async (_session, mib) => {
    process.stdout.write(`{"jsonrpc":"2.0","method":"x","params":"${"y".repeat(Number(mib) * 1024 * 1024)}"}\n`);
  },
  unasked: async () => {
    const answer = await ask("fs/read_text_file", { sessionId: "x", path: "/etc/hostname" });
    process.stderr.write(`fs said ${JSON.stringify(answer.error ?? answer.result)}\n`);
  },
  die: async (_session, words) => {
    process.stderr.write(`${words || "I am leaving"}\n`);
    await sleep(20);
    process.exit(3);
  },
  after: async (session, text) => {
    const [ms, mode] = text.split(" ");
    Object.assign(session, { after: Number(ms), modeAfter: mode });
  },
  env: async (session) => say(session.id, Object.keys(process.env).sort().join(",")),
  stop: async () => "max_tokens",
  refuse: async () => {
    throw { code: -32603, message: "the model said no", data: { details: "quota" } };
  },
};

const METHODS = {
  initialize: () => ({
    protocolVersion: Number(process.env.SCRIPTED_VERSION ?? 1),
    agentInfo: { name: "scripted", version: "1.0.0" },
    authMethods: [{ id: "key", name: "A key" }],
    agentCapabilities: {
      loadSession: can.has("load") || can.has("load-fails"),
      promptCapabilities: { image: can.has("image") },
      sessionCapabilities: {
        ...((can.has("resume") || can.has("resume-lies")) && { resume: {} }),
        ...(can.has("close") && { close: {} }),
      },
    },
  }),
  authenticate: () => {
    can.add("logged-in");
    return {};
  },
  "session/new": async ({ cwd }) => {
    if (can.has("login") && !can.has("logged-in")) throw { code: -32000, message: "Authentication required" };
    if (can.has("new-dies")) process.exit(4);
    const id = `s-${process.pid}-${nextId++}`;
    sessions.set(id, { id, cwd, said: [] });
    if (can.has("early")) {
      await ORDERS.commands({ id });
      await sleep(100);
    }
    return { sessionId: id, modes: MODES, configOptions: OPTIONS() };
  },
  "session/resume": ({ sessionId, cwd }) => {
    if (!can.has("resume")) throw { code: -32601, message: "Method not found" };
    return open(sessionId, cwd);
  },
  "session/load": ({ sessionId, cwd }) => {
    if (!can.has("load")) throw { code: -32603, message: "the session file is gone" };
    const answer = open(sessionId, cwd);
    for (const text of sessions.get(sessionId).said) {
      update(sessionId, { sessionUpdate: "user_message_chunk", content: { type: "text", text } });
      say(sessionId, `replayed ${text}`);
      update(sessionId, { sessionUpdate: "tool_call", toolCallId: `renamed-${nextId++}`, title: "replayed" });
    }
    return answer;
  },
  "session/close": () => ({}),
  "session/set_mode": ({ sessionId, modeId }) => {
    sessions.get(sessionId).said.push(`mode=${modeId}`);
    return {};
  },
  "session/set_config_option": ({ sessionId, configId, value }) => {
    sessions.get(sessionId).said.push(`${configId}=${value}`);
    const configOptions = OPTIONS().map((one) => ({ ...one, currentValue: value }));
    update(sessionId, { sessionUpdate: "config_option_update", configOptions });
    return { configOptions };
  },
  "session/prompt": async ({ sessionId, prompt }) => {
    const session = sessions.get(sessionId);
    const text = prompt.map((block) => block.text ?? `<${block.type}>`).join("\n");
    session.cancelled = false;
    if (state) appendFileSync(join(state, "prompts"), `${JSON.stringify(text)}\n`);
    let stopReason = "end_turn";
    for (const line of text.split("\n")) {
      const [order, ...rest] = line.split(" ");
      if (session.cancelled) break;
      if (!Object.hasOwn(ORDERS, order)) continue;
      const outcome = await Promise.race([ORDERS[order](session, rest.join(" ")), cancelOf(session)]);
      if (typeof outcome === "string") stopReason = outcome;
    }
    session.said.push(text.split("\n").at(-1));
    keep(session);
    // The delay starts at the answer and not at the order, so that a slow reader does not count the update as part of the turn.
    if (session.after) {
      setTimeout(() => {
        if (session.modeAfter) ORDERS.mode(session, session.modeAfter);
        ORDERS.title(session, "Said afterwards");
      }, session.after);
    }
    return {
      stopReason: session.cancelled ? "cancelled" : stopReason,
      usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 },
    };
  },
};

function cancelOf(session) {
  return new Promise((done) => {
    session.onCancel = done;
  });
}

function open(id, cwd) {
  if (!sessions.has(id)) {
    if (!state || !existsSync(file(id))) throw { code: -32602, message: `no session ${id}` };
    sessions.set(id, { id, cwd, said: JSON.parse(readFileSync(file(id), "utf8")) });
  }
  return { modes: MODES, configOptions: OPTIONS() };
}

if (can.has("dies-at-start")) {
  process.stderr.write("no such library\n");
  process.exit(1);
}
createInterface({ input: process.stdin })
  .on("line", async (line) => {
    const message = JSON.parse(line);
    if (message.method === "session/cancel") {
      const session = sessions.get(message.params.sessionId);
      if (!session || session.ignoresCancel) return;
      session.cancelled = true;
      session.onCancel?.();
      return;
    }
    if (message.method === undefined) return waiting.get(message.id)?.(message);
    if (message.id === undefined) return;
    try {
      if (!METHODS[message.method]) throw { code: -32601, message: "Method not found" };
      send({ id: message.id, result: await METHODS[message.method](message.params ?? {}) });
    } catch (error) {
      send({ id: message.id, error: { code: error.code ?? -32603, message: error.message, data: error.data } });
    }
  })
  .on("close", () => can.has("stays") || process.exit(0));
