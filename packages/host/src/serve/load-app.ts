/** The app over the program's sessions: what a server loads once it listens. */
import type { Server } from "node:http";
import type { Person } from "@chimera/session";
import type { RunningCore } from "../compose.js";
import type { Log } from "../log/log.js";
import type { AcpPeer, Profile, StartedExtension } from "../profile.js";
import type { acpServer } from "./acp.js";
import type { HttpAccess } from "./http-access.js";
import type { ServeSettings } from "./settings.js";

/** What is served, and how. */
export interface HttpParts {
  readonly settings: ServeSettings;
  readonly access: HttpAccess;
  readonly core: () => Promise<RunningCore>;
  /** Handed down, because the start has its code already. */
  readonly acpServer: typeof acpServer;
  readonly extensions: readonly StartedExtension[];
  readonly log: Log;
}

export interface HttpOptions extends HttpParts {
  readonly profile: Profile;
  readonly sharesDirectory: string;
  /** Where shares are posted when a request names no address. */
  readonly shareUrl: string | undefined;
  readonly peoplePath: string;
  /** By which a page may sign in. */
  readonly pageCode: string | undefined;
}

export async function loadApp(options: HttpOptions, startedAt: number, server: Server) {
  const { profile, settings, access, acpServer, extensions, log, sharesDirectory, shareUrl, pageCode } = options;
  const { createApp, createOwnUserCheck } = await import("@chimera/http-server");
  // Begun first, because it waits for another program while the rest is loaded.
  const check = access.authToken === undefined || settings.open ? createOwnUserCheck(server) : null;
  const [{ sessionsFor }, core, isOwnUser] = await Promise.all([import("@chimera/session"), options.core(), check]);
  const people = await peopleOf(options, core.shared);
  if (access.authToken === undefined && !isOwnUser && !people) log.warn(OPEN_TO_ALL);
  const serveAcp = (person: Person | undefined) => {
    const theirs = async () => ({ ...core, sessions: sessionsFor(core.sessions, person) });
    return acpServer({ profile, core: theirs, extensions, ...settings, log });
  };
  const app = createApp({
    name: profile.name,
    version: profile.version,
    agentDescription: profile.tagline,
    startedAt,
    sessions: core.sessions,
    ...(core.shared && { peers: { ...core.shared, ...core.shared.inbox } }),
    palette: core.palette,
    defaultCwd: settings.cwd,
    cors: access.cors,
    hosts: access.hosts,
    ...(access.authToken !== undefined && { authToken: access.authToken }),
    ...(isOwnUser && { isOwnUser }),
    ...(people && { people }),
    ...(settings.page && { page: settings.page }),
    ...(pageCode !== undefined && { pageCode }),
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
    acp: ({ onlySession, person, ...peer }) =>
      serveAcp(person)({ ...peer, ...(onlySession !== undefined && { remote: remoteOf(core, onlySession) }) }),
    options: [...(core.options ?? []), ...extensions.flatMap(({ protocol }) => protocol?.options ?? [])],
    sharesDirectory,
    ...(shareUrl && { shareUrl }),
    log: log.error,
  });
  return Object.assign(app, { people });
}

// --- internal ---

const OPEN_TO_ALL =
  "without a token every user of this machine can use this server, as the system does not tell them apart: see --auth-token auto";

/** Where no token is set and nobody is listed, the server is its own user's alone. */
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

/** A session's token may make the session stricter, and nothing else of what a person decides. */
function remoteOf({ sessions }: RunningCore, id: string): NonNullable<AcpPeer["remote"]> {
  return { id, facts: () => ({ mode: sessions.find(id)?.mode ?? "read-only", approval: "" }) };
}
