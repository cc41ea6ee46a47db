// Examples of what no schema describes well: parameters, event streams, transcripts, metrics, and messages of ACP.
import { exampleOf, TEXTS } from "./example.mjs";

const { session_id: id } = TEXTS;

/** Of parameters, by their names: in paths, queries and headers. */
const PARAMETERS = {
  id,
  run_id: id,
  pid: "perm-7c8a4f1e",
  qid: "question-7c8a4f1e",
  snap: "snap-3-1777118580000",
  name: "review",
  token_id: "4f1e7c8a9b2d",
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
  "Acp-Connection-Id": "5f0c4f1e7c8a9b2d5f0c4f1e7c8a9b2d",
  "Acp-Session-Id": id,
  "Idempotency-Key": "5f0c4f1e-7c8a-4b2d",
  "Last-Event-ID": "42",
};

export function withExample(parameter) {
  const example = PARAMETERS[parameter.name] ?? parameter.schema.enum?.[0];
  if (example === undefined) throw new Error(`scripts/http-examples.mjs has no example for ${parameter.name}`);
  return { ...parameter, example };
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
