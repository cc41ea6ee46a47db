/** The client side of ACP: connects to an agent over two streams and calls its methods. */
import {
  agentMethods,
  CreateElicitationRequest,
  type CreateElicitationResponse,
  type Implementation,
  type InitializeResponse,
  PROTOCOL_VERSION,
  RequestPermissionRequest,
  type RequestPermissionResponse,
} from "@chimera/acp-schema";
import {
  type CloseReason,
  createConnection,
  defineMethods,
  type InputStream,
  type OutputStream,
  row,
} from "@chimera/ndjson-rpc";
import * as v from "valibot";
import { EngineError } from "./errors.js";
import { limits } from "./limits.js";

/** The two byte streams of an agent, and the handlers of its messages. */
export interface AgentPeer {
  readonly input: InputStream;
  readonly output: OutputStream;
  readonly client: Implementation;
  /** Called with every `session/update`, in order. Updates are not validated, because an agent may send kinds unknown to this version. */
  onUpdate(sessionId: string, update: UnknownUpdate): void;
  onPermission(asked: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse>;
  /** Called with a form that the agent wants filled in. @defaultValue the agent is not offered forms */
  onElicitation?(asked: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse>;
  /** Called with errors that no answer can carry, such as an error of a notification handler. */
  onError?(error: unknown): void;
}

/** An unvalidated update: an object that names its kind, if the agent follows the protocol. */
export type UnknownUpdate = Readonly<Record<string, unknown>>;

type Rows = typeof agentMethods;
type Answer<M extends keyof Rows> = Rows[M]["result"] extends v.GenericSchema
  ? v.InferOutput<Rows[M]["result"]>
  : undefined;

export interface ConnectedAgent {
  /** The agent's answer to `initialize`. */
  readonly about: InitializeResponse;
  /** Calls a method of the agent. Rejects for an invalid answer, an error of the agent or a lost connection. */
  request<M extends keyof Rows & string>(
    method: M,
    params: v.InferInput<Rows[M]["params"]>,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<Answer<M>>;
  /** Cancels the running turn of a session; the agent then answers its prompt. */
  cancel(sessionId: string): void;
  readonly closed: Promise<CloseReason>;
  close(): Promise<void>;
}

/**
 * Connects to an agent and calls its `initialize`.
 *
 * @example
 * const child = spawn("codex-acp", { stdio: ["pipe", "pipe", "inherit"] });
 * const agent = await connectAgent({
 *   input: child.stdout,
 *   output: child.stdin,
 *   client: { name: "my-program", version: "1.0.0" },
 *   onUpdate: (_session, update) => console.log(update),
 *   onPermission: async ({ options }) => ({ outcome: { outcome: "selected", optionId: options[0].optionId } }),
 * });
 * const { sessionId } = await agent.request("session/new", { cwd: process.cwd(), mcpServers: [] });
 * await agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: "hello" }] });
 */
export async function connectAgent(peer: AgentPeer): Promise<ConnectedAgent> {
  const connection = createConnection({
    input: peer.input,
    output: peer.output,
    onError: (error) => peer.onError?.(error),
    methods: defineMethods({
      "session/update": row({
        handle(params) {
          const { sessionId, update } = params as { sessionId?: unknown; update?: unknown };
          if (typeof sessionId === "string" && typeof update === "object" && update !== null)
            peer.onUpdate(sessionId, update as UnknownUpdate);
        },
      }),
      "session/request_permission": row({
        params: RequestPermissionRequest,
        handle: (asked, { signal }) => peer.onPermission(asked, signal),
      }),
      ...(peer.onElicitation && {
        "elicitation/create": row({
          params: CreateElicitationRequest,
          handle: (asked, { signal }) => peer.onElicitation!(asked, signal),
        }),
      }),
    }),
  });
  const call = async (method: string, params: unknown, options?: { signal?: AbortSignal | undefined }) =>
    readAnswer(method, await connection.request(method as never, params as never, options));
  const about = (await within(
    call("initialize", {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { ...OFFERED, ...(peer.onElicitation && { elicitation: { form: {} } }) },
      clientInfo: peer.client,
    }),
    "initialize",
  )) as InitializeResponse;
  if (about.protocolVersion !== PROTOCOL_VERSION) {
    await connection.close();
    throw new EngineError(
      "bad_answer",
      `the agent speaks version ${about.protocolVersion} of ACP, not ${PROTOCOL_VERSION}`,
    );
  }
  return {
    about,
    request: (method, params, options) => call(method, params, options) as never,
    cancel: (sessionId) => connection.notify("session/cancel" as never, { sessionId } as never),
    closed: connection.closed,
    close: connection.close,
  };
}

/** Rejects if the answer takes longer than `ms`; by default, than opening may take. */
export async function within<T>(answer: Promise<T>, what: string, ms: number = limits.openMs): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new EngineError("no_answer", `${what} was not answered within ${ms / 1000} s`)),
      ms,
    );
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

// --- internal ---

/** The answer of a method with the schema's defaults and all unknown fields, because agents are often newer than the schema. */
function readAnswer(method: string, answer: unknown): unknown {
  const schema = Object.hasOwn(agentMethods, method) ? agentMethods[method as keyof Rows].result : null;
  if (!schema) return answer;
  const read = v.safeParse(schema, answer);
  if (read.success) return { ...(answer as object), ...(read.output as object) };
  const [issue] = read.issues;
  const place = v.getDotPath(issue) ?? "its answer";
  throw new EngineError("bad_answer", `the agent's answer to ${method} is invalid: ${place}: ${issue.message}`);
}

/** Neither `fs` nor `terminal` is offered: ACP is about to drop both, and a watched workspace needs neither. */
const OFFERED = {
  fs: { readTextFile: false, writeTextFile: false },
  terminal: false,
  session: { configOptions: { boolean: {} }, notices: {} },
  _meta: { terminal_output: true },
};
