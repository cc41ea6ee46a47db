/** Checks the settings that a body names before anything is changed, so that a session gets all of them or none. */
import { ENGINE_OPTION, FLAG_OPTIONS, isFlagOption, MODE_FLAGS } from "@chimera/acp-schema/conversation";
import type { SettingsBody, SettingsReply } from "@chimera/acp-schema/http";
import type { Session, SessionReading, SettingChange } from "@chimera/session";
import type { AppDeps } from "./deps.js";
import { HttpError } from "./http-error.js";

/** Throws `invalid_setting` for a name or a value that this program does not have. */
export async function settingsChange(deps: AppDeps, cwd: string, named: SettingsBody) {
  const { title, shared, model, mode, agent, engine, effort } = named;
  if (agent !== undefined) await requireAgent(deps, cwd, agent);
  const options = [...Object.entries(named.options ?? {}), ...Object.entries({ engine, effort })];
  const chosen = options.flatMap(([id, value]) => (value === undefined ? [] : [optionChange(deps, id, value)]));
  /** The changes of options, which need the session and so come after it was made. Throws `invalid_setting`. */
  const rest = (session: Session): SettingChange[] => chosen.flatMap((change) => change(session) ?? []);
  return {
    /** The settings with which a new session is made. */
    made: {
      ...(model !== undefined && { model }),
      ...(agent !== undefined && { agent }),
      ...(mode !== undefined && MODE_FLAGS[mode]),
    },
    rest,
    /** All changes, for an existing session. */
    all: (session: Session): SettingChange[] => [
      ...(title !== undefined ? [{ title }] : []),
      ...(model !== undefined ? [{ model }] : []),
      ...(agent !== undefined ? [{ agent }] : []),
      ...(mode !== undefined ? [{ mode }] : []),
      ...rest(session),
      ...(shared !== undefined ? [{ shared }] : []),
    ],
  };
}

export function settingsOf({
  id,
  title,
  owner,
  isShared,
  mode,
  settings,
  conversation,
}: SessionReading): SettingsReply {
  const { model, agent, maxSteps, maxCostUsd, allowedTools, options } = settings;
  const flags = Object.entries(FLAG_OPTIONS).map(([name, flag]) => [name, settings[flag]] as const);
  return {
    session_id: id,
    title,
    owner,
    shared: isShared,
    model,
    mode,
    agent,
    max_steps: maxSteps,
    max_cost_usd: maxCostUsd,
    allowed_tools: allowedTools && [...allowedTools],
    options: { ...options, ...Object.fromEntries(flags) },
    engine_options: [...conversation.facts.engineOptions],
  };
}

// --- internal ---

async function requireAgent(deps: AppDeps, cwd: string, name: string): Promise<void> {
  const agents = await deps.agents?.(cwd);
  if (!agents || agents.some(({ id }) => id === name)) return;
  throw invalid(`there is no agent ${JSON.stringify(name)}; one of ${agents.map(({ id }) => id).join(", ")}`);
}

function optionChange(deps: AppDeps, id: string, value: string | boolean): (session: Session) => SettingChange | null {
  if (isFlagOption(id)) {
    if (typeof value !== "boolean") throw invalid(`${id} is either true or false`);
    return () => ({ option: id, value });
  }
  if (id.startsWith(ENGINE_OPTION)) return (session) => engineOptionChange(session, id, value);
  const option = deps.options?.find((one) => one.id === id);
  // A field of the body that an application need not describe.
  if (!option && id === "effort") return () => ({ option: id, value });
  const known = [...(deps.options ?? []).map((one) => one.id), ...Object.keys(FLAG_OPTIONS)];
  if (!option) throw invalid(`there is no option ${JSON.stringify(id)}; one of ${known.join(", ")}`);
  if (!option.change) throw invalid(`${id} cannot be changed while the program runs`);
  if (!option.choices.some((choice) => choice.id === value)) {
    throw invalid(`${id} is one of ${option.choices.map((choice) => choice.id).join(", ")}`);
  }
  return (session) => option.change?.(session, String(value)) ?? null;
}

/** The change of an engine's own option. Only the session knows which options its engine has. */
function engineOptionChange(session: Session, id: string, value: string | boolean): SettingChange {
  const { engineOptions } = session.conversation.facts;
  const option = engineOptions.find((one) => `${ENGINE_OPTION}${one.id}` === id);
  if (!option) throw invalid(`the engine of this session has no option ${JSON.stringify(id)}`);
  const isOffered = option.choices ? option.choices.some((one) => one.id === value) : typeof value === "boolean";
  if (!isOffered) throw invalid(`${id} is one of ${option.choices?.map((one) => one.id).join(", ") ?? "true, false"}`);
  return { option: id, value };
}

function invalid(message: string): HttpError {
  return new HttpError(400, "invalid_setting", message);
}
