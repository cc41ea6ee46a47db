/** Opens the session that a person means: a new one, one by its id, or the last one of this directory. */
import type { Mode } from "@chimera/acp-schema/conversation";
import { type Invocation, type RunningCore, UsageError } from "@chimera/host";
import type { Session, SettingChange } from "@chimera/session";
import type { SessionClient } from "./client/client.js";
import { serverHolding } from "./client/holder.js";
import { localClient } from "./client/local.js";
import { remoteClient, type Server } from "./client/remote.js";
import { CliError } from "./errors.js";
import { meantId } from "./store.js";
import { plainLine } from "./terminal/text.js";

/** Settings that have a flag, and how a person changes each in a session that a server holds. */
const SWITCHES = { model: "; /model switches it", mode: "; /mode switches it", agent: "" } as const;
/** `readConfig` refuses other modes. */
export type TypedSettings = Readonly<Partial<Record<keyof typeof SWITCHES, string> & { mode: Mode }>>;

export interface SessionChoice {
  readonly cwd: string;
  readonly resume?: string;
  readonly last: boolean;
  readonly persist: boolean;
  /** Settings from the command line. They also apply to a resumed session, and stay. */
  readonly typed?: TypedSettings;
  readonly title?: string;
}

/** Opens the session here, or joins it at the server on this machine that holds it; it then keeps its settings. */
export async function openSession(
  invocation: Invocation,
  core: RunningCore,
  choice: SessionChoice,
  approves: boolean,
): Promise<SessionClient> {
  const { sessions } = core;
  const { cwd, persist, typed = {}, title } = choice;
  const { resume } = choice;
  const id = resume
    ? await meantId({ list: sessions.listAll }, resume)
    : choice.last
      ? await lastSession(core, cwd)
      : undefined;
  try {
    const session = id === undefined ? await sessions.create({ cwd, persist }) : await sessions.load(id);
    await keep(session, typed, id === undefined);
    if (title?.trim()) await session.setTitle(title.trim());
    return localClient(core, session, approves);
  } catch (error) {
    if (id === undefined) throw error;
    return join(invocation, serverHolding(invocation, error), id, choice);
  }
}

export async function lastSession({ sessions }: RunningCore, cwd: string): Promise<string> {
  const [found] = (await sessions.list({ order: "touched", cwd, limit: 1 })).sessions;
  if (found) return found.id;
  throw new CliError("not_found", `there is no session of ${cwd} yet`);
}

/** The flags of a run, for `-p` and for the conversation. The host package reads the settings among them. */
export type RunFlags = ReturnType<typeof readRunFlags>;

export function readRunFlags({ flags, operands }: Invocation) {
  const text = (name: string) => flags[name] as string | undefined;
  const [typed, resume, title] = ["print", "resume", "title"].map(text);
  if (typed !== undefined && operands.length > 0) throw new UsageError("-p takes one prompt; quote it as a whole");
  const prompt = typed ?? operands[0];
  if (resume !== undefined && flags["continue"] === true)
    throw new UsageError("--resume and --continue exclude each other");
  return {
    ...(prompt !== undefined && { prompt }),
    files: (flags["file"] as readonly string[] | undefined) ?? [],
    outputFormat: text("output-format") ?? "text",
    typed: typedSettings(flags),
    ...(resume !== undefined && { resume }),
    last: flags["continue"] === true,
    ...(title !== undefined && { title: plainLine(title) }),
  };
}

/** The settings on the command line. */
export function typedSettings(flags: Invocation["flags"]): TypedSettings {
  return Object.fromEntries(Object.keys(SWITCHES).flatMap((name) => (flags[name] ? [[name, flags[name]]] : [])));
}

/** Says of the typed settings that a session at a server keeps its own. */
export function sayKept({ profile, process }: Invocation, { url }: Server, typed: TypedSettings): void {
  for (const name of namesOf(typed)) {
    const said = `the session is open at ${url} and keeps its ${name}${SWITCHES[name]}`;
    process.stderr.write(`[${profile.name}] ${said}\n`);
  }
}

// --- internal ---

/** Records the typed settings. A new session already has them, and keeps only its model when it is resumed without the flags. */
async function keep(session: Session, typed: TypedSettings, isNew: boolean): Promise<void> {
  const now = { ...session.settings, mode: session.mode };
  for (const name of namesOf(typed)) {
    const isKept = now[name] === typed[name] && (!isNew || name === "model");
    if (!isKept) await session.set({ [name]: typed[name] } as SettingChange);
  }
}

function namesOf(typed: TypedSettings): (keyof TypedSettings)[] {
  return Object.keys(typed) as (keyof TypedSettings)[];
}

async function join(
  invocation: Invocation,
  server: Server,
  id: string,
  { typed = {}, title }: SessionChoice,
): Promise<SessionClient> {
  sayKept(invocation, server, typed);
  if (title?.trim()) await server.ask((client) => client.sessions.open(id).change({ title }));
  return remoteClient(server, id);
}
