/** The preset of each session, within what its project allows. */
import { type Session, SessionError, type Settings } from "@chimera/session";
import type { ProjectBounds } from "../project-bounds.js";
import { stricter } from "../words.js";
import { type ApprovalPreset, PRESET_NAMES, PRESETS, presetOf, WARNINGS } from "./preset.js";

export interface Approvals {
  /** What counts for a session in `cwd` that has these options. */
  within(options: Settings["options"] | undefined, cwd: string): ApprovalPreset;
  of(session: Session): ApprovalPreset;
  /** Takes effect at the next call, in a running turn too; throws `invalid_setting` for more than the project allows. */
  switch(session: Session, preset: ApprovalPreset, origin?: string): Promise<Record<"old" | "new", ApprovalPreset>>;
}

export function createApprovals({ approval: limitIn }: Pick<ProjectBounds, "approval">): Approvals {
  const within: Approvals["within"] = (options, cwd) => {
    const preset = presetOf(options);
    return stricter(PRESET_NAMES, preset, limitIn(cwd) ?? preset);
  };
  const of = (session: Session) => within(session.settings.options, session.cwd);
  return {
    within,
    of,
    async switch(session, preset, origin) {
      const old = of(session);
      const limit = limitIn(session.cwd) ?? preset;
      if (stricter(PRESET_NAMES, preset, limit) !== preset) {
        const reason = `the project's .chimera/config.json allows approval ${limit} at most (${PRESETS[limit]})`;
        throw new SessionError("invalid_setting", reason);
      }
      const warning = WARNINGS[preset];
      if (old !== preset) {
        await session.set({ approval: preset }, origin);
        if (warning) await session.notify("warning", warning);
      }
      return { old, new: preset };
    },
  };
}
