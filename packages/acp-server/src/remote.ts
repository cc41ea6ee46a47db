/** Limits a remote to one session, with no more rights than the session has. Each method row names the rules for its calls. */
import { ErrorCode, RpcError } from "@chimera/ndjson-rpc";
import type { RemoteRule } from "./row.js";

/** The only session that a remote may use. */
export interface RemoteSession {
  readonly id: string;
  /** The present mode and approval. A remote may only make them stricter. */
  facts(): RemoteFacts | Promise<RemoteFacts>;
}

interface RemoteFacts {
  readonly mode: string;
  readonly approval: string;
}

type Params = Readonly<Record<string, unknown>>;
/** Returns the reason to refuse a call, or undefined to allow it. */
type Rule = (params: Params, session: RemoteSession) => string | undefined | Promise<string | undefined>;

/** The strictest comes first. */
const APPROVALS = ["read-only", "auto", "full"];
const MODES = ["read-only", "review", "auto"];

/** The programs' slash commands that only show something, compact or rewind. The others change settings or leave the session. */
const COMMANDS = new Set(["help", "undo", "redo", "cost", "clear", "compact", "tools", "diff"]);

const own: Rule = ({ sessionId }, { id }) =>
  sessionId === id ? undefined : `only session ${id} is open to this remote`;

const bringsNothing: Rule = ({ mcpServers, additionalDirectories }) =>
  mcpServers == null && additionalDirectories == null
    ? undefined
    : "MCP servers and directories are given where the program runs";

const ownHands: Rule = ({ clientCapabilities }) => {
  const { fs, terminal } = asParams(clientCapabilities);
  const offered = terminal === true || Object.values(asParams(fs)).includes(true);
  return offered ? "files and terminals stay where the program runs; offer neither fs nor terminal" : undefined;
};

const plainPrompt: Rule = (params) => {
  const refused = promptTexts(params)
    .map((text) => /^\/([\w:-]+)(?:\s|$)/.exec(text.trimStart())?.[1])
    .find((name) => name !== undefined && !COMMANDS.has(name));
  return refused === undefined ? undefined : `/${refused} is given where the program runs`;
};

/** Refuses scripted models: a script is a file on this machine, and error messages about it quote it. */
const ownModel =
  (key: string): Rule =>
  (params) =>
    /^\s*scripted:/i.test(String(params[key])) ? "scripted models are chosen where the program runs" : undefined;

const notWider =
  (key: string, order: readonly string[], setting: "mode" | "approval"): Rule =>
  async (params, session) => {
    const { [setting]: current } = await session.facts();
    const wanted = order.indexOf(String(params[key]));
    // A wider setting in another spelling must not get through, so every value outside the list is refused.
    return wanted >= 0 && wanted <= order.indexOf(current)
      ? undefined
      : `${setting} is ${current}; a remote may only make it stricter`;
  };

const only =
  (value: boolean): Rule =>
  (params) =>
    params["value"] === value ? undefined : "a remote may only make it stricter";

const OPTIONS: Readonly<Record<string, Rule>> = {
  model: ownModel("value"),
  mode: notWider("value", MODES, "mode"),
  approval: notWider("value", APPROVALS, "approval"),
  auto_approve_writes: only(false),
  auto_approve_execute: only(false),
  read_only: only(true),
};

const option: Rule = (params, session) => {
  const id = String(params["configId"]);
  return Object.hasOwn(OPTIONS, id) ? OPTIONS[id]!(params, session) : `${id} is set where the program runs`;
};

const RULES: Readonly<Record<RemoteRule, Rule>> = {
  own,
  brings_nothing: bringsNothing,
  own_hands: ownHands,
  plain_prompt: plainPrompt,
  narrower_mode: notWider("modeId", MODES, "mode"),
  narrower_approval: notWider("preset", APPROVALS, "approval"),
  narrower_option: option,
  unscripted_modelId: ownModel("modelId"),
  unscripted_model: ownModel("model"),
};

/** Rejects with the `RpcError` for the client if a remote may not make the call. */
export async function requireAllowed(
  session: RemoteSession,
  {
    method,
    params,
    rules,
  }: { readonly method: string; readonly params: unknown; readonly rules: readonly RemoteRule[] | undefined },
): Promise<void> {
  for (const rule of rules?.map((name) => RULES[name]) ?? [closed]) {
    const reason = await rule(asParams(params), session);
    if (reason === undefined) continue;
    const message = `refused for a remote: ${reason}`;
    throw new RpcError(ErrorCode.internalError, message, { code: "refused_for_remote", method, reason });
  }
}

// --- internal ---

const closed: Rule = () => "this method is not open to remotes";

function asParams(value: unknown): Params {
  return typeof value === "object" && value !== null ? (value as Params) : {};
}

/** All texts of a prompt in any dialect: strings under one of the param names, and the texts of content blocks. */
function promptTexts(params: Params): string[] {
  return ["prompt", "message", "text", "content"].flatMap((key) =>
    [params[key]].flat().map((part) => (typeof part === "string" ? part : String(asParams(part)["text"] ?? ""))),
  );
}
