/** REST and SSE over sessions, as a plain hono app: listening, TLS and signals are left to the program. */
import { type RouteName, routes, type Tier } from "@chimera/acp-schema/http";
import { isSessionError, type Person, type Sessions, sessionsFor } from "@chimera/session";
import { type Context, Hono } from "hono";
import { finishAnswer } from "./answer.js";
import { createGate } from "./auth/gate.js";
import { createPageTokens } from "./auth/page-tokens.js";
import { createRefuse } from "./auth/refusals.js";
import { createSessionTokens } from "./auth/token.js";
import { createCreations } from "./creations.js";
import type { AppDeps, AppEnv } from "./deps.js";
import { guard } from "./guard/guard.js";
import { errorResponse, HttpError } from "./http-error.js";
import { LIMITS } from "./limits.js";
import { createMetrics, type Metrics } from "./metrics.js";
import { type CreateSession, createOpenSession, type OpenSession } from "./open-session.js";
import { createPage } from "./page.js";
import { answerAnywhere, createAnswerer } from "./peers.js";
import { healthRoutes } from "./probes.js";
import { readNoBody, refuseForeignBody } from "./request/body.js";
import { existingDirectory } from "./request/query.js";
import { noteUnknown } from "./request/unknown.js";
import { acpRoutes } from "./routes/acp.js";
import { agentRunRoutes } from "./routes/agent-runs.js";
import { commandRoutes } from "./routes/commands.js";
import { eventRoutes } from "./routes/events.js";
import { inspectRoutes } from "./routes/inspect.js";
import { pageRoutes } from "./routes/page.js";
import { programRoutes } from "./routes/program.js";
import { reportRoutes } from "./routes/reports.js";
import type { Handler, RouteDeps } from "./routes/route.js";
import { sessionAliasRoutes } from "./routes/session-alias.js";
import { sessionRoutes } from "./routes/sessions.js";
import { turnRoutes } from "./routes/turns.js";
import { undoRoutes } from "./routes/undo.js";
import { createStreams } from "./stream/streams.js";

export interface App extends Hono<AppEnv> {
  readonly createSession: CreateSession;
  /** Makes a new token for a session. The old token ends at once. Null if there is no such session. */
  rotateSessionToken(id: string): Promise<string | null>;
  /** Replaces the master token, and closes everything that was opened with the old one. */
  changeAuthToken(token: string): void;
  /** The text of `GET /metrics`. */
  metrics(): string;
  /** Starts to drain: `/readyz`, prompts and new sessions get 503. Everything else is served as before. */
  drain(): void;
  /** Waits a moment for the sessions to end, then closes the ACP connections. */
  close(): Promise<void>;
}

/**
 * The HTTP API over any sessions, as an app that `listen` serves.
 *
 * @example
 * const app = createApp({ ...about, sessions, defaultCwd: process.cwd(), authToken });
 * await listen(async () => app, { host: "127.0.0.1", port: 5173 });
 */
export function createApp(deps: AppDeps): App {
  const { sessions, authToken, isOwnUser, people } = deps;
  const tokens = createSessionTokens(sessions, deps.peers?.tokens, deps.people?.lifeOf);
  const openSession = createOpenSession(sessions, deps);
  const createIn =
    (open: OpenSession): CreateSession =>
    async ({ cwd, ...options } = {}, giver, begin) => {
      const where = cwd === undefined ? deps.defaultCwd : await existingDirectory(cwd, "cwd");
      let sessionToken = "";
      const session = await open.make({ ...options, cwd: where }, async (made) => {
        open.admit(made);
        await begin?.(made);
        sessionToken = await tokens.issue(made, giver);
      });
      return { session, sessionToken };
    };
  const createSession = createIn(openSession);
  const clock = deps.clock ?? Date.now;
  const pageTokens = createPageTokens(deps.pageCode, clock);
  const refuse = createRefuse();
  const closing: (() => Promise<void>)[] = [];
  const streams = createStreams(deps.log);
  const metrics = createMetrics(sessions, { name: deps.name, version: deps.version, streams: streams.count });
  const shared: RouteDeps = {
    deps,
    everybody: sessions,
    metrics,
    onClose: (close) => void closing.push(close),
    creations: createCreations(sessions, { isShared: deps.peers !== undefined, clock }),
    tokens,
    pageTokens,
    refuse,
    openSession,
    createSession,
    streams,
    clock,
  };
  const gate = createGate({ authToken, isOwnUser, tokens, pageTokens, people, refuse });
  const own = handlersOf(shared);
  /** The handlers of each person, by role and name. They reach only the sessions that this person may see. */
  const tables = new Map<string, { readonly table: typeof own; readonly shared: RouteDeps }>();
  const depsFor = (person: Person): RouteDeps => {
    const theirs = sessionsFor(sessions, person);
    const open = createOpenSession(theirs, deps);
    const peers = deps.peers && { ...deps.peers, held: async () => visibleOf(theirs, await deps.peers!.held()) };
    return {
      ...shared,
      deps: { ...deps, sessions: theirs, ...(peers && { peers }) },
      creations: createCreations(theirs, { owner: person.name, isShared: deps.peers !== undefined, clock }),
      openSession: open,
      createSession: createIn(open),
    };
  };
  const tableFor = (person: Person) => {
    const key = `${person.role} ${person.name}`;
    let entry = tables.get(key);
    if (!entry) {
      const theirs = depsFor(person);
      entry = { table: handlersOf(theirs), shared: theirs };
    }
    tables.delete(key);
    tables.set(key, entry);
    if (tables.size > LIMITS.rememberedPeople) tables.delete(tables.keys().next().value!);
    return entry;
  };
  const answerPage = deps.page && createPage(deps.page);
  const app = new Hono<AppEnv>();
  app.use("*", guard({ cors: deps.cors ?? [], hosts: deps.hosts ?? [], isOwnOriginServed: deps.page !== undefined }));
  for (const [name, ownHandle] of Object.entries(own) as [RouteName, Handler][]) {
    const [method = "", path = ""] = name.split(" ");
    app.on(method, path.replace(/\{(\w+)\}/g, ":$1"), async (c) => {
      measure(c, name, metrics);
      await gate(c, routes[name].tier);
      const { person } = c.get("caller");
      const theirs = person && tableFor(person);
      if (theirs && routes[name].tier === "admin") await requireChange(theirs.shared, c.req.param("id") ?? "");
      const handle = theirs?.table[name] ?? ownHandle;
      if (method !== "GET") await refuseForeignBody(c);
      if (c.req.url.includes("?")) noteUnknown(c, name, "query", [...new URL(c.req.url).searchParams.keys()]);
      if (method !== "GET" && !("body" in routes[name])) await readNoBody(c, name);
      return finishAnswer(c, await answerAnywhere(c, handle, deps.peers));
    });
  }
  // A caller that may use one method of a path learns of the others. An unknown path also needs a token, so that a stranger cannot tell a
  // missing path from a forbidden one.
  app.notFound(async (c) => {
    const file = await answerPage?.(c);
    if (file) return file;
    const { path } = c.req;
    const { allowed, tier, id } = routesAt(path);
    await gate(c, tier, id);
    if (allowed.length === 0) throw new HttpError(404, "not_found", "there is no such path", { fields: { path } });
    c.header("Allow", allowed.join(", "));
    throw new HttpError(405, "method_not_allowed", `${path} takes ${allowed.join(", ")}`);
  });
  app.onError((error, c) => errorResponse(error, c, deps.log));
  const serving = deps.peers?.serve(createAnswerer((request, env) => app.fetch(request, env)));
  serving?.catch((error: unknown) => deps.log?.("other nodes cannot ask this one", { error: String(error) }));
  return Object.assign(app, {
    createSession,
    metrics: metrics.text,
    changeAuthToken: gate.changeMaster,
    drain: sessions.drain,
    async close() {
      const ended = Promise.all(sessions.live().map((session) => session.ended));
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, LIMITS.farewellMs).unref())]);
      await Promise.all(closing.map((close) => close()));
    },
    async rotateSessionToken(id: string): Promise<string | null> {
      try {
        return await tokens.issue(await openSession(id));
      } catch (error) {
        if (isSessionError(error) && error.code === "session_not_found") return null;
        throw error;
      }
    },
  });
}

// --- internal ---

/** Counts an answer and its time. Only under Node: other runtimes do not report when a response has been sent. */
function measure(c: Context<AppEnv>, name: RouteName, metrics: Metrics): void {
  const outgoing = c.env?.outgoing;
  if (!outgoing) return;
  const started = performance.now();
  const isStream = "stream" in routes[name];
  outgoing.once("close", () => {
    metrics.answered(name, outgoing.statusCode, (performance.now() - started) / 1000, isStream);
  });
}

/** The ids of the sessions that a person may see. */
async function visibleOf(sessions: Sessions, ids: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const found = await Promise.all([...ids].map(async (id) => ((await sessions.logs.has(id)) ? [id] : [])));
  return new Set(found.flat());
}

/** Refuses a person who may only read this session. */
async function requireChange({ openSession }: RouteDeps, id: string): Promise<void> {
  const session = await openSession(id);
  if (session.isReadOnly) throw new HttpError(403, "read_only", "the caller may only read this session");
}

const PATHS = (Object.keys(routes) as RouteName[]).map((name) => {
  const [method = "", path = ""] = name.split(" ");
  const pattern = path
    .replace(/\./g, "\\.")
    .replace("{id}", "(?<id>[^/]+)")
    .replace(/\{\w+\}/g, "[^/]+");
  return { method, tier: routes[name].tier, pattern: new RegExp(`^${pattern}$`) };
});

/** From the tier that everybody has to the tier that fewest have. */
const TIERS: readonly Tier[] = ["open", "any", "session", "person", "admin", "master"];

/** The methods of a path (none for an unknown path), the lowest tier among them, and the session that the path names. */
function routesAt(path: string) {
  const there = PATHS.filter(({ pattern }) => pattern.test(path));
  return {
    allowed: there.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method])),
    tier: TIERS.find((tier) => there.some((one) => one.tier === tier)) ?? "person",
    id: there.map(({ pattern }) => pattern.exec(path)?.groups?.["id"]).find(Boolean),
  };
}

function handlersOf(shared: RouteDeps): Readonly<Record<RouteName, Handler>> {
  return {
    ...healthRoutes(shared),
    ...programRoutes(shared),
    ...pageRoutes(shared),
    ...sessionRoutes(shared),
    ...turnRoutes(shared),
    ...eventRoutes(shared),
    ...undoRoutes(shared),
    ...inspectRoutes(shared),
    ...sessionAliasRoutes(shared),
    ...commandRoutes(shared),
    ...reportRoutes(shared),
    ...agentRunRoutes(shared),
    ...acpRoutes(shared),
  };
}
