/** How hard a session's model thinks: an option for clients of standard ACP, and a slash command for all others. */
import type { SessionOption } from "@chimera/acp-server";
import type { SlashCommand } from "@chimera/session";

const TEXT = {
  default: "As the model does by itself",
  off: "Not asked to think",
  low: "Thinks a little",
  medium: "Thinks",
  high: "Thinks hard",
} as const;
export type EffortLevel = keyof typeof TEXT;
export const EFFORT_LEVELS = Object.keys(TEXT) as EffortLevel[];

/** @param thinks whether a model can think; undefined when that is not known. */
export function createEffort(thinks: (model: string) => boolean | undefined) {
  const current = ({ settings }: Pick<Parameters<SessionOption["current"]>[0], "settings">): EffortLevel =>
    EFFORT_LEVELS.find((level) => level === settings.options["effort"]) ?? "default";
  const option: SessionOption = {
    id: "effort",
    name: "Effort",
    category: "thought_level",
    description: "How hard the model thinks",
    choices: EFFORT_LEVELS.map((id) => ({ id, name: id, description: TEXT[id] })),
    offered: ({ settings }) => thinks(settings.model) === true,
    current,
    change: (_session, value) => ({ option: "effort", value }),
  };
  const command: SlashCommand = {
    name: "effort",
    description: "Show or switch how hard the model thinks",
    hint: `[${EFFORT_LEVELS.join(" | ")}]`,
    async run({ session, args }) {
      const old = current(session);
      if (!args) return `effort: ${old}`;
      const level = EFFORT_LEVELS.find((one) => one === args.trim().toLowerCase());
      if (!level) return `effort takes one of ${EFFORT_LEVELS.join(", ")}`;
      if (thinks(session.settings.model) === false) return `${session.settings.model} does not think`;
      await session.set({ option: "effort", value: level });
      return `effort: ${old} -> ${level}`;
    },
  };
  return { option, command };
}
