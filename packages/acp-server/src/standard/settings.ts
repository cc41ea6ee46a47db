/** Lists a session's modes and config options for ACP, always completely, and changes them. */
import type { SessionConfigOption, SessionModeState } from "@chimera/acp-schema";
import {
  ENGINE_OPTION,
  FLAG_OPTIONS,
  type FlagOption,
  isFlagOption,
  MODES,
  type Mode,
} from "@chimera/acp-schema/conversation";
import { ErrorCode, RpcError } from "@chimera/ndjson-rpc";
import { parseMode, type Session, type SettingChange } from "@chimera/session";
import type { Choice, OfferedModes, SessionOption } from "../core.js";

export interface SettingsShown {
  readonly models: readonly Choice[];
  /** Models that this connection's sessions have had. A model that was chosen once stays on the list. */
  readonly chosen: Set<string>;
  readonly modes: (session: Session) => OfferedModes;
  readonly agents: readonly Choice[];
  /** The options of the core and of extensions. */
  readonly options: readonly SessionOption[];
  /** Whether the client said that it shows boolean options. Others must not get any. */
  readonly booleans: boolean;
}

const MODE_NAMES: Readonly<Record<Mode, string>> = { auto: "Auto", review: "Review", "read-only": "Read-only" };

/** The modes of a program where only the approval flags decide what runs without asking. */
export function plainModes({ mode }: Session): OfferedModes {
  return {
    current: mode,
    modes: {
      auto:
        "Writes in the workspace and commands run without asking; paths outside of it, secrets, settings of other programs, " +
        "and commands that a rule or their risk singles out still ask",
      review: "Asks before writes, and before commands that may do more than read",
      "read-only": "Writes and commands are refused",
    },
    flags: Object.keys(FLAG_OPTIONS) as FlagOption[],
  };
}

const FLAG_TEXT: Readonly<Record<FlagOption, { name: string; description: string }>> = {
  auto_approve_writes: { name: "Approve writes", description: "File changes run without asking" },
  auto_approve_execute: { name: "Approve commands", description: "Commands run without asking" },
  read_only: { name: "Read-only", description: "Writes and commands are refused" },
};

export function modeState(session: Session, shown: SettingsShown): SessionModeState {
  const offered = shown.modes(session);
  return { currentModeId: offered.current, availableModes: choicesOf(offered) };
}

/** Throws for a mode that is not offered now. */
export function requireMode(session: Session, shown: SettingsShown, id: string): Mode {
  const mode = parseMode(id);
  const offered = shown.modes(session);
  const { [mode]: text, [offered.current]: reason } = offered.modes;
  if (text !== undefined) return mode;
  throw invalid(`mode ${mode} cannot be chosen now: ${reason}`, { options: Object.keys(offered.modes) });
}

export function configOptions(session: Session, shown: SettingsShown): SessionConfigOption[] {
  const { settings } = session;
  const offered = shown.modes(session);
  const options: SessionConfigOption[] = [
    select({ id: "model", name: "Model", category: "model" }, settings.model, modelChoices(settings.model, shown)),
    select({ id: "mode", name: "Mode", category: "mode" }, offered.current, choicesOf(offered)),
    select({ id: "agent", name: "Agent" }, settings.agent, shown.agents),
  ];
  for (const option of shown.options.filter((one) => isOffered(one, session))) {
    const { id, name, description, category } = option;
    const head = { id, name, ...(description && { description }), ...(category && { category }) };
    options.push(select(head, option.current(session), option.choices));
  }
  for (const option of session.conversation.facts.engineOptions) {
    const { name, description, value, choices } = option;
    // An engine's option gets no category, because an editor shows one picker for models and one for modes, and those are ours.
    const head = { id: `${ENGINE_OPTION}${option.id}`, name, ...(description && { description }) };
    if (typeof value === "string") options.push(select(head, value, choices ?? []));
    else if (shown.booleans) options.push({ type: "boolean", ...head, currentValue: value });
  }
  if (!shown.booleans) return options;
  for (const id of offered.flags)
    options.push({ type: "boolean", id, ...FLAG_TEXT[id], currentValue: settings[FLAG_OPTIONS[id]] });
  return options;
}

/** Changes one option and resolves when the change is durable. Throws invalid params for an unknown id or value. */
export async function setConfigOption(
  session: Session,
  shown: SettingsShown,
  { id, value, origin }: { readonly id: string; readonly value: string | boolean; readonly origin: string | undefined },
): Promise<void> {
  const engine = session.conversation.facts.engineOptions.find((one) => `${ENGINE_OPTION}${one.id}` === id);
  if (engine) {
    if (typeof value !== typeof engine.value)
      throw invalid(`${id} takes ${typeof engine.value === "string" ? "one of its options" : "a boolean"}`);
    if (typeof value === "string") requireChoice(id, value, engine.choices ?? []);
    return session.set({ option: id, value }, origin);
  }
  const own = shown.options.find((one) => one.id === id && isOffered(one, session));
  if (own && !own.change) throw invalid(`${id} cannot be changed while the program runs`);
  if (isFlagOption(id) && typeof value !== "boolean") throw invalid(`${id} takes a boolean`);
  if (!isFlagOption(id) && typeof value !== "string") throw invalid(`${id} takes one of its options`);
  if (own?.change) {
    const change = own.change(session, requireChoice(id, String(value), own.choices));
    return session.set(change ?? [], origin);
  }
  const change = Object.hasOwn(CHANGES, id)
    ? CHANGES[id]
    : isFlagOption(id)
      ? () => ({ option: id, value })
      : undefined;
  if (!change) throw invalid(`there is no config option ${id}`);
  await session.set(change(String(value), shown, session), origin);
}

// --- internal ---

/** How many chosen models a picker keeps besides the suggested ones. */
const MOST_CHOSEN = 20;

function modelChoices(current: string, { models, chosen }: SettingsShown): readonly Choice[] {
  if (chosen.size < MOST_CHOSEN) chosen.add(current);
  const known = new Set(models.map(({ id }) => id));
  return [...[...chosen].filter((id) => !known.has(id)).map((id) => ({ id, name: id })), ...models];
}

function choicesOf({ modes }: OfferedModes) {
  return MODES.flatMap((id) => {
    const description = modes[id];
    return description === undefined ? [] : [{ id, name: MODE_NAMES[id], description }];
  });
}

type Change = (value: string, shown: SettingsShown, session: Session) => SettingChange;

const CHANGES: Readonly<Record<string, Change>> = {
  model: (model) => ({ model }),
  mode: (mode, shown, session) => ({ mode: requireMode(session, shown, mode) }),
  agent: (agent, { agents }) => ({ agent: requireChoice("agent", agent, agents) }),
};

function isOffered(option: SessionOption, session: Session): boolean {
  return option.offered?.(session) ?? true;
}

function select(
  head: { id: string; name: string; description?: string; category?: string },
  current: string,
  choices: readonly Choice[],
): SessionConfigOption {
  const options = choices.map(({ id, name, description }) => ({
    value: id,
    name,
    ...(description && { description }),
  }));
  // A value that was set elsewhere may be missing from the choices; a picker still has to show it.
  if (!options.some((option) => option.value === current)) options.unshift({ value: current, name: current });
  return { type: "select", ...head, currentValue: current, options };
}

function requireChoice(id: string, value: string, choices: readonly Choice[]): string {
  if (choices.some((choice) => choice.id === value)) return value;
  throw invalid(`${id} has no option ${JSON.stringify(value)}`, { options: choices.map((choice) => choice.id) });
}

function invalid(message: string, data?: unknown): RpcError {
  return new RpcError(ErrorCode.invalidParams, message, data);
}
