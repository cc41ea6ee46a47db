/** The settings of a live session. A change is a record first, so that every client sees it. */
import type { AgentEvent } from "@chimera/acp-schema/events";
import type { Session } from "./session.js";
import { FLAG_OPTIONS, MODE_FLAGS, modeOf, requireModelName, type Settings } from "./settings.js";

export interface LiveSettings {
  readonly now: Settings;
  readonly setters: Pick<Session, "setModel" | "setAgent" | "setMode" | "setFlag" | "setOption" | "setApproval">;
}

export function createLiveSettings(
  born: Settings,
  change: (event: AgentEvent, origin: string | undefined) => void,
): LiveSettings {
  // One object for the session's life, so that a running turn obeys a change from its next call on.
  const options: Record<string, string | boolean> = { ...born.options };
  let now: Settings = { ...born, options };
  const configure = (id: string, value: string | boolean, origin?: string) =>
    change({ type: "config_changed", metadata: { id, value } }, origin);

  return {
    get now() {
      return now;
    },
    setters: {
      setModel(model, origin) {
        requireModelName(model);
        change({ type: "model_changed", metadata: { old: now.model, new: model } }, origin);
        now = { ...now, model };
      },
      setAgent(agent, origin) {
        configure("agent", agent, origin);
        now = { ...now, agent };
      },
      setMode(mode, origin) {
        change({ type: "mode_changed", metadata: { old: modeOf(now), new: mode } }, origin);
        now = { ...now, ...MODE_FLAGS[mode] };
      },
      setFlag(option, value, origin) {
        configure(option, value, origin);
        now = { ...now, [FLAG_OPTIONS[option]]: value };
      },
      setOption(option, value, origin) {
        configure(option, value, origin);
        options[option] = value;
      },
      setApproval(preset, origin) {
        const { approval: old = null } = options;
        change({ type: "approval_changed", metadata: { old: old === null ? null : String(old), new: preset } }, origin);
        options["approval"] = preset;
      },
    },
  };
}
