/** A running server and its sessions, through the typed client. Failures become one line for the person. */
import type { PromptBlock } from "@chimera/acp-schema/events";
import type { TurnBody } from "@chimera/acp-schema/http";
import { startOf } from "@chimera/acp-schema/text";
import { type Client, ClientError, type ClientOptions, createClient } from "@chimera/client";
import { createSlashPalette } from "@chimera/session";
import type { Choice } from "../conversation/screen.js";
import { CliError, isCliError } from "../errors.js";
import { chosenId } from "../store.js";
import { plainLine } from "../terminal/text.js";
import {
  type FollowOptions,
  MOST_OFFERED,
  modeChoices,
  type PaletteRow,
  type SessionClient,
  sessionChoice,
} from "./client.js";

/** Loads the session on the server and returns a client for it. */
export async function remoteClient(server: Server, id: string): Promise<SessionClient> {
  const { working_dir, event_count } = await server.ask((client) => client.call("GET /session/{id}", { id }));
  if (typeof event_count !== "number") throw new CliError("failed", `${server.url} is not a server of this kind`);
  return {
    id,
    cwd: typeof working_dir === "string" ? working_dir : null,
    model: null,
    server: server.url,
    persistent: true,
    head: event_count,
    follow: (options) => followSession(server, id, options),
    async prompt({ text, content }) {
      const rest = content?.filter(({ type }) => type !== "text") as TurnBody["content"];
      const body = { prompt: content === undefined ? text : textOf(content), ...(rest?.length && { content: rest }) };
      const reply = await server.ask((client) => client.call("POST /sessions/{id}/turns", { id, body }));
      const turn = /^msg-(\d+)$/.exec(reply.message_id)?.[1];
      if (turn === undefined)
        throw new CliError("failed", `${server.url} took the prompt without saying as which turn`);
      return Number(turn);
    },
    cancel: () => server.ask((client) => client.sessions.open(id).cancel()),
    async answerQuestion(qid, answer) {
      const request = { id, qid, body: { answer } };
      await isFirst(server.ask((client) => client.call("POST /sessions/{id}/questions/{qid}", request)));
    },
    answer(permissionId, { decision, ...rest }, shown) {
      const details = { ...rest, ...(shown !== undefined && { shown }) };
      return isFirst(server.ask((client) => client.sessions.open(id).answer(permissionId, decision, details)));
    },
    commands: async () => [...createSlashPalette({ home: "" }).commands, ...(await customCommands(server))],
    settings: () => server.ask((client) => client.sessions.open(id).settings()),
    choices: (of) => (of === "mode" ? Promise.resolve(modeChoices()) : server.ask(CHOICES[of])),
    async forgetFiles() {},
    async close() {},
  };
}

/** Finds a session on the server by the beginning or end of its id. A session token cannot list sessions; then the id is used unchanged. */
export function idThere(server: Server, typed: string): Promise<string> {
  const list = async (client: Client) => (await client.call("GET /sessions", { query: { limit: "10000" } })).sessions;
  return chosenId(typed, async () => (await server.ask(list).catch(() => [])).map(({ session_id }) => session_id));
}

/** The session that was used last. */
export async function newest(server: Server): Promise<string | undefined> {
  const query = { state: "live", limit: "1" } as const;
  const { sessions } = await server.ask((client) => client.call("GET /sessions", { query }));
  return sessions[0]?.session_id;
}

export async function createSession(
  server: Server,
  settings: Parameters<Client["sessions"]["create"]>[0],
): Promise<string> {
  return (await server.ask((client) => client.sessions.create(settings))).id;
}

/** Follows a session, with one notice when the connection is lost and one when it is back. */
export async function followSession(server: Server, id: string, options: FollowOptions): Promise<void> {
  const { from, signal, onRecord, onNotice, patienceMs = Number.POSITIVE_INFINITY } = options;
  let isLost = false;
  let lostAt = 0;
  const onRetry = ({ error }: { error: Error }) => {
    if (error.message === "the stream ended") return;
    if (!isLost) onNotice(`connection lost (${error.message}); trying again`);
    if (!isLost) lostAt = performance.now();
    isLost = true;
    if (performance.now() - lostAt > patienceMs) throw error;
  };
  const read = async (client: Client) => {
    const onLoss = ({ metadata }: { metadata: { text: string } }) => onNotice(metadata.text);
    for await (const record of client.sessions.open(id).follow({ from, until: "never", signal, onLoss })) {
      if (isLost) onNotice("connected again");
      isLost = false;
      onRecord(record);
    }
  };
  await server.ask(read, { onRetry }).catch((error) => {
    if (!signal.aborted) throw error;
  });
}

export type Server = ReturnType<typeof createServer>;

export function createServer(url: string, token: string | undefined) {
  return {
    url,
    /** Uses the client. Its errors become `CliError`s. */
    async ask<T>(use: (client: Client) => Promise<T>, options: Pick<ClientOptions, "onRetry"> = {}) {
      try {
        return await use(createClient({ url, token, retries: 1, ...options }));
      } catch (error) {
        throw error instanceof ClientError ? refusal(url, error) : error;
      }
    },
  };
}

// --- internal ---

const CHOICES: Readonly<Record<"model" | "agent" | "session", (client: Client) => Promise<readonly Choice[]>>> = {
  model: async (client) =>
    (await client.call("GET /models", {})).models.map(({ id, provider }) => ({
      value: id,
      label: id,
      description: provider ?? "",
    })),
  agent: async (client) =>
    (await client.call("GET /agents", {})).agents.map(({ name, description }) => ({
      value: name,
      label: name,
      description,
    })),
  session: async (client) =>
    (await client.call("GET /sessions", { query: { limit: String(MOST_OFFERED) } })).sessions.map((row) =>
      sessionChoice(row.session_id, { ...row, state: row.status }),
    ),
};

/** False when another client's answer came first. */
function isFirst(answering: Promise<unknown>): Promise<boolean> {
  return answering.then(
    () => true,
    (error) => {
      if (isCliError(error) && error.code === "conflict") return false;
      throw error;
    },
  );
}

/** Joins the text blocks: files that a person adds to a prompt are blocks before it. */
function textOf(content: readonly PromptBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block["text"]] : [])).join("\n\n");
}

/** Used only for completion, so it is not an error that a session token may not list them. */
function customCommands(server: Server): Promise<readonly PaletteRow[]> {
  return server.ask(async (client) => (await client.call("GET /commands", {})).commands).catch(() => []);
}

function refusal(url: string, cause: ClientError): CliError {
  const { status, message } = cause;
  const said = startOf(plainLine(message), 300);
  if (status === 0) return new CliError("unreachable", said, { cause });
  if (status === 401 || status === 403)
    return new CliError("unauthorized", `${url} refuses the token: ${said}`, { cause });
  if (status === 404) return new CliError("not_found", said, { cause });
  if (status === 409) return new CliError("conflict", said, { cause });
  return new CliError(status >= 500 ? "unreachable" : "failed", `${url} answered ${status}: ${said}`, { cause });
}
