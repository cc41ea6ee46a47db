/** A session's modes and config options as ACP shows them; always the complete list. */
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
import type { Choice, SessionOption } from "../core.js";

export interface SettingsShown {
  readonly models: readonly Choice[];
  readonly agents: readonly Choice[];
  /** Those of the core and of extensions. */
  readonly options: readonly SessionOption[];
  /** Boolean options may only be sent to a client that said it shows them. */
  readonly booleans: boolean;
}

const MODE_TEXT: Readonly<Record<Mode, { name: string; description: string }>> = {
  auto: { name: "Auto", description: "Writes and commands run without asking" },
  review: { name: "Review", description: "Asks before writes and commands" },
  "read-only": { name: "Read-only", description: "Writes and commands are refused" },
};

const FLAG_TEXT: Readonly<Record<FlagOption, { name: string; description: string }>> = {
  auto_approve_writes: { name: "Approve writes", description: "File changes run without asking" },
  auto_approve_execute: { name: "Approve commands", description: "Commands run without asking" },
  read_only: { name: "Read-only", description: "Writes and commands are refused" },
};

export function modeState(session: Session): SessionModeState {
  return { currentModeId: session.mode, availableModes: MODES.map((id) => ({ id, ...MODE_TEXT[id] })) };
}

export function configOptions(session: Session, shown: SettingsShown): SessionConfigOption[] {
  const { settings } = session;
  const modes = MODES.map((id) => ({ id, ...MODE_TEXT[id] }));
  const options: SessionConfigOption[] = [
    select({ id: "model", name: "Model", category: "model" }, settings.model, shown.models),
    select({ id: "mode", name: "Mode", category: "mode" }, session.mode, modes),
    select({ id: "agent", name: "Agent" }, settings.agent, shown.agents),
  ];
  for (const option of shown.options.filter((one) => isOffered(one, session))) {
    const { id, name, description, category } = option;
    const head = { id, name, ...(description && { description }), ...(category && { category }) };
    options.push(select(head, option.current(session), option.choices));
  }
  for (const option of session.conversation.facts.engineOptions) {
    const { name, description, value, choices } = option;
    // Its category is left to our own: an editor shows one picker for models, and one for modes.
    const head = { id: `${ENGINE_OPTION}${option.id}`, name, ...(description && { description }) };
    if (typeof value === "string") options.push(select(head, value, choices ?? []));
    else if (shown.booleans) options.push({ type: "boolean", ...head, currentValue: value });
  }
  if (!shown.booleans) return options;
  for (const [id, flag] of Object.entries(FLAG_OPTIONS) as [FlagOption, (typeof FLAG_OPTIONS)[FlagOption]][]) {
    options.push({ type: "boolean", id, ...FLAG_TEXT[id], currentValue: settings[flag] });
  }
  return options;
}

/** Applies one option; an unknown id or value is the client's fault. Resolves when the change is durable. */
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
  if (own && !own.set) throw invalid(`${id} cannot be changed while the program runs`);
  if (isFlagOption(id) && typeof value !== "boolean") throw invalid(`${id} takes a boolean`);
  if (!isFlagOption(id) && typeof value !== "string") throw invalid(`${id} takes one of its options`);
  if (own?.set) return own.set(session, requireChoice(id, String(value), own.choices), origin);
  const change = Object.hasOwn(CHANGES, id)
    ? CHANGES[id]
    : isFlagOption(id)
      ? () => ({ option: id, value })
      : undefined;
  if (!change) throw invalid(`there is no config option ${id}`);
  await session.set(change(String(value), shown), origin);
}

// --- internal ---

const CHANGES: Readonly<Record<string, (value: string, shown: SettingsShown) => SettingChange>> = {
  model: (model) => ({ model }),
  mode: (mode) => ({ mode: parseMode(mode) }),
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
  // A value set from elsewhere may be none of the known ones; a picker still has to show it.
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
