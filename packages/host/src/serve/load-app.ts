/** The HTTP app over the program's sessions, which a server loads once it listens. */
import type { Server } from "node:http";
import type { Person } from "@chimera/session";
import type { RunningCore } from "../compose.js";
import type { AnswerRequest } from "../join-nodes.js";
import type { Log } from "../log/log.js";
import type { AcpPeer, Profile, StartedExtension } from "../profile.js";
import type { acpServer } from "./acp.js";
import type { HttpAccess } from "./http-access.js";
import type { ServeSettings } from "./settings.js";

/** The parts of the HTTP server. */
export interface HttpParts {
  readonly settings: ServeSettings;
  readonly access: HttpAccess;
  readonly core: () => Promise<RunningCore>;
  /** Passed in, because the start has loaded its code already. */
  readonly acpServer: typeof acpServer;
  readonly extensions: readonly StartedExtension[];
  readonly log: Log;
}

export interface HttpOptions extends HttpParts {
  readonly profile: Profile;
  readonly sharesDirectory: string;
  /** The address to which shares are posted when a request names none. */
  readonly shareUrl: string | undefined;
  readonly peoplePath: string;
  /** The code with which a page can sign in. */
  readonly pageCode: string | undefined;
}

/** The facts about the program that its core does not have. */
export interface AppAbout {
  readonly profile: Profile;
  readonly extensions: readonly StartedExtension[];
  readonly cwd: string;
  readonly log: Log;
}

export async function loadApp(options: HttpOptions, startedAt: number, server: Server) {
  const { profile, settings, access, acpServer, extensions, log, sharesDirectory, shareUrl, pageCode } = options;
  const { createApp, createOwnUserCheck } = await import("@chimera/http-server");
  // Started first, because it waits for another program while the rest is loaded.
  const check = access.authToken === undefined || settings.open ? createOwnUserCheck(server) : null;
  const [{ sessionsFor }, core, isOwnUser] = await Promise.all([import("@chimera/session"), options.core(), check]);
  const people = await peopleOf(options, core.shared);
  if (access.authToken === undefined && !isOwnUser && !people) log.warn(OPEN_TO_ALL);
  const serveAcp = (person: Person | undefined) => {
    const theirs = async () => ({ ...core, sessions: sessionsFor(core.sessions, person) });
    return acpServer({ profile, core: theirs, person, extensions, ...settings, log });
  };
  const app = createApp({
    ...partsOf(core, { profile, extensions, cwd: settings.cwd, log }),
    startedAt,
    ...(core.shared &&
      core.nodes && { peers: { ...core.shared, ask: core.shared.inbox.ask, serve: core.nodes.serve } }),
    cors: access.cors,
    hosts: access.hosts,
    ...(access.authToken !== undefined && { authToken: access.authToken }),
    ...(isOwnUser && { isOwnUser }),
    ...(people && { people }),
    ...(settings.page && { page: settings.page }),
    ...(pageCode !== undefined && { pageCode }),
    acp: ({ onlySession, person, ...peer }) =>
      serveAcp(person)({ ...peer, ...(onlySession !== undefined && { remote: remoteOf(core, onlySession) }) }),
    sharesDirectory,
    ...(shareUrl && { shareUrl }),
  });
  return Object.assign(app, { people });
}

/** Answers requests of other nodes in a process with sessions and without an HTTP server, such as an editor's. */
export async function answerRequests(core: RunningCore, about: AppAbout): Promise<AnswerRequest> {
  const { createApp } = await import("@chimera/http-server");
  const { shared } = core;
  return new Promise((resolve) => {
    const serve = async (answer: AnswerRequest) => resolve(answer);
    createApp({ ...partsOf(core, about), ...(shared && { peers: { ...shared, ask: shared.inbox.ask, serve } }) });
  });
}

// --- internal ---

/** The parts of every app over a core. */
function partsOf(core: RunningCore, { profile, extensions, cwd, log }: AppAbout) {
  return {
    name: profile.name,
    version: profile.version,
    agentDescription: profile.tagline,
    sessions: core.sessions,
    palette: core.palette,
    defaultCwd: cwd,
    agents: core.agents,
    tools: async () =>
      (await core.offered()).map(({ name, description, inputSchema }) => ({
        name,
        description,
        input_schema: { ...inputSchema },
      })),
    providers: core.providers,
    models: core.knownModels,
    engines: core.engines.list,
    options: [...(core.options ?? []), ...extensions.flatMap(({ protocol }) => protocol?.options ?? [])],
    log: log.error,
  };
}

const OPEN_TO_ALL =
  "without a token every user of this machine can use this server, as the system does not tell them apart: see --auth-token auto";

/** The people of the server; null when no token is set and the list is empty: then only the server's own user may call. */
async function peopleOf({ access, log, peoplePath }: HttpOptions, shared: RunningCore["shared"]) {
  const [{ openPeople }, { fileList, parsePeople }] = await Promise.all([
    import("../people/open-people.js"),
    import("../people/people-list.js"),
  ]);
  const place = shared?.people ?? fileList(peoplePath);
  const isWanted = access.authToken !== undefined || access.proxy !== null;
  if (!isWanted && parsePeople(await place.read()).length === 0) return null;
  return openPeople(place, access.proxy, log);
}

/** The limits of a client with a session's token: of a person's decisions, it may only make the session stricter. */
function remoteOf({ sessions }: RunningCore, id: string): NonNullable<AcpPeer["remote"]> {
  return { id, facts: async () => ({ mode: (await sessions.read(id)).mode, approval: "" }) };
}
