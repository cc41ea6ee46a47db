/** A running server as this package talks to it, and a session of it: the typed client, whose failures become a line for the person. */
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

/** Opens the session on the server, so that it is live and can be talked to. */
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

/** A session of the server by its id, or by the beginning or end of it. The token of one session may not list the others. */
export function idThere(server: Server, typed: string): Promise<string> {
  const list = async (client: Client) => (await client.call("GET /sessions", { query: { limit: "10000" } })).sessions;
  return chosenId(typed, async () => (await server.ask(list).catch(() => [])).map(({ session_id }) => session_id));
}

/** The session somebody worked on last, or a new one. */
export async function newestOrNew(server: Server): Promise<string> {
  const query = { state: "live", limit: "1" } as const;
  const { sessions } = await server.ask((client) => client.call("GET /sessions", { query }));
  return sessions[0]?.session_id ?? createSession(server);
}

export async function createSession(server: Server): Promise<string> {
  return (await server.ask((client) => client.sessions.create())).id;
}

/** Says once that the connection is lost, and once that it is there again. */
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
    /** Uses the client, with words for what goes wrong. */
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

/** False for an answer that came after another one. */
function isFirst(answering: Promise<unknown>): Promise<boolean> {
  return answering.then(
    () => true,
    (error) => {
      if (isCliError(error) && error.code === "conflict") return false;
      throw error;
    },
  );
}

/** Files that are given with a prompt are blocks of text before it. */
function textOf(content: readonly PromptBlock[]): string {
  return content.flatMap((block) => (block.type === "text" ? [block["text"]] : [])).join("\n\n");
}

/** For completion only: a session's own token may not list them, and that is not an error. */
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
