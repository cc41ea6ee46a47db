// Examples of what no schema describes well: parameters, event streams, transcripts, metrics, and messages of ACP.
import { exampleOf, TEXTS } from "./example.mjs";

const { session_id: id } = TEXTS;

/** Of parameters in paths and headers, which no schema has, by their names: an example, and what they are. */
const PARAMETERS = {
  id: [id, "The id of the session."],
  run_id: [id, "The id of the run, which is that of its session."],
  pid: ["perm-7c8a4f1e", "The id of the permission request."],
  qid: ["question-7c8a4f1e", "The id of the question."],
  snap: ["snap-3-1777118580000", "The id of the snapshot."],
  name: ["review", "The name of the command, or of the agent."],
  token_id: ["4f1e7c8a9b2d", "The id of the page's token."],
  "Acp-Connection-Id": [
    "5f0c4f1e7c8a9b2d5f0c4f1e7c8a9b2d",
    "The connection, as the answer to `initialize` names it; absent with `initialize`.",
  ],
  "Acp-Session-Id": [id, "The session that the message or the stream is about; absent for what is about none."],
  "Idempotency-Key": [
    "5f0c4f1e-7c8a-4b2d",
    "A new key for each request: one that is sent again with its key is done once, and has the same answer.",
  ],
  "Last-Event-ID": [
    "42",
    "The id of the last event that the client has: the stream goes on after it. Absent for all events.",
  ],
  Prefer: [
    "handling=strict",
    "`handling=strict`: refuse a name that the route does not know, which is otherwise ignored with a warning. `return=representation`: report what was deleted.",
  ],
  "X-Request-Id": ["5f0c4f1e", "The caller's own id of the request; absent for one that the server makes."],
};

/** Of parameters in queries, by their names. */
const QUERIES = {
  after: "WzE3NzcxMTg1ODAwMDAsIm90dGVyLTIwMjYwNDI1VDEyMDMwMC1hYWFhMTExMSJd",
  diff: "true",
  dry_run: "true",
  format: "md",
  from: "live",
  limit: "20",
  list: "true",
  model: TEXTS.model,
  path: TEXTS.path,
  q: "flaky test",
  session: `${id}:42`,
  since: "7d",
  turn: "3",
};

export function withExample(parameter) {
  const { name, schema } = parameter;
  const [example, description] =
    parameter.in === "query" ? [QUERIES[name] ?? schema.enum?.[0], parameter.description] : (PARAMETERS[name] ?? []);
  if (example === undefined) throw new Error(`scripts/http-examples.mjs has no example for ${name}`);
  return { ...parameter, description, example };
}

const call = (method, params) => ({ jsonrpc: "2.0", id: 1, method, params });
export const acpInitialize = call("initialize", { protocolVersion: 1, clientCapabilities: {} });
export const acpInitialized = { jsonrpc: "2.0", id: 1, result: { protocolVersion: 1, agentCapabilities: {} } };
const acpUpdate = {
  jsonrpc: "2.0",
  method: "session/update",
  params: { sessionId: id, update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "Hello" } } },
};

/** The first frames of an event stream, as they are on the wire. */
export function streamExample(route, schemas) {
  const of = (name) => exampleOf(schemas[name], schemas);
  const record = recordExample(schemas, 43);
  if (route === "GET /acp") return frame({ id: 43, data: acpUpdate });
  if (route === "POST /runs") {
    const run = { ...of("Run"), status: "completed" };
    return (
      frame({ data: { type: "run_in_progress", run: of("Run") } }) + frame({ data: { type: "run_completed", run } })
    );
  }
  if (route === "GET /events")
    return (
      frame({ event: "record", data: { session_id: id, record }, id: `${id}:43` }) +
      frame({ event: "row", data: { session_id: id, row: of("SessionRow") } })
    );
  if (route.startsWith("GET /session/"))
    return (
      frame({ id: 43, event: "user_message", data: of("stream.user_message") }) +
      frame({ id: 51, event: "result", data: of("stream.result") })
    );
  return frame({ id: 43, event: record.type, data: record }) + frame({ event: "end", data: of("EndData") });
}

/** Media type -> a transcript of that type, shortened. */
export function transcriptExamples(schemas) {
  const event = recordExample(schemas, 1);
  const summary = { session_id: id, title: TEXTS.title, turns: 1 };
  return {
    "text/html": `<!doctype html><title>${TEXTS.title}</title><h1>${TEXTS.title}</h1>`,
    "text/markdown": `# ${TEXTS.title}\n\n${TEXTS.prompt}\n`,
    "application/json": { session_id: id, summary, events: [event] },
  };
}

export const METRICS = `# HELP otter_sessions Loaded sessions by state
# TYPE otter_sessions gauge
otter_sessions{state="idle"} 3
`;

// --- internal ---

function recordExample(schemas, seq) {
  const record = exampleOf(schemas.SessionRecordSchema, schemas);
  return { ...record, seq, turn: 0, metadata: { ...record.metadata, prompt: "msg-0", text: TEXTS.prompt } };
}

function frame({ id: number, event, data }) {
  const lines = [
    ...(number === undefined ? [] : [`id: ${number}`]),
    ...(event === undefined ? [] : [`event: ${event}`]),
    `data: ${JSON.stringify(data)}`,
  ];
  return `${lines.join("\n")}\n\n`;
}
