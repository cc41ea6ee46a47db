/** Approval presets: how much runs without a question. A session's preset can be changed at any time. */
import { MODE_FLAGS } from "@chimera/acp-schema/conversation";
import type { OfferedModes } from "@chimera/acp-server";
import type { ProgramExtension } from "@chimera/host";
import { type Session, SessionError, type SettingChange, type Settings } from "@chimera/session";
import {
  type ApprovalPreset,
  chosen,
  PRESET_NAMES,
  PRESETS,
  type ProjectBounds,
  projectBounds,
  stricter,
  wordIn,
} from "./settings.js";

/** Warnings for dangerous presets. */
const WARNINGS: Readonly<Partial<Record<ApprovalPreset, string>>> = {
  full: "WARNING: approval full: tools run without a question; only the sandbox and the rules that deny protect you",
};

export const approvalExtension: ProgramExtension = {
  name: "approval",
  start(context) {
    const { flags, under } = context;
    const approvals = createApprovals(projectBounds(context));
    // Without the project of this directory, because each session applies the limits of its own project.
    const preset = chosen({ flags, values: under(null).values }, "approval") as ApprovalPreset;
    const choices = Object.entries(PRESETS).map(([id, description]) => ({ id, name: id, description }));
    const warning = WARNINGS[preset];
    return {
      warnings: warning ? [warning] : [],
      options: { approval: preset },
      orders: { approval: PRESET_NAMES },
      // A session opens in auto mode, which leaves the decision to the preset.
      flags: MODE_FLAGS.auto,
      protocol: {
        name: "approval",
        capabilities: { approval: true },
        modes: (session) => modesUnder(approvals.of(session), session),
        options: [
          {
            id: "approval",
            name: "Approval",
            description: "How much runs without asking",
            choices,
            current: approvals.of,
            change: (session, value) => approvals.change(session, value as ApprovalPreset),
          },
        ],
        methods: async (connection) => (await import("./methods.js")).setApproval(connection, approvals.switch),
      },
      commands: [
        {
          name: "approval",
          description: "Show or switch the approval preset",
          hint: `[${PRESET_NAMES.join(" | ")}]`,
          async run({ session, args }) {
            if (!args) return `approval: ${approvals.of(session)}`;
            const { old, new: now } = await approvals.switch(session, parsePreset(args));
            return [`approval: ${old} -> ${now}`, WARNINGS[now]].filter(Boolean).join("\n");
          },
        },
      ],
      agent: async () => (await import("./approval-policy.js")).approvalParts(approvals.within),
    };
  },
};

/** The preset of each session, limited by its project. */
export function createApprovals({ approval: limitIn }: Pick<ProjectBounds, "approval">) {
  const within = (options: Settings["options"] | undefined, cwd: string) => {
    const preset = presetOf(options);
    return stricter(PRESET_NAMES, preset, limitIn(cwd) ?? preset);
  };
  const of = (session: Session) => within(session.settings.options, session.cwd);
  /** Throws `invalid_setting` for a preset beyond the project's limit. */
  const change = (session: Session, preset: ApprovalPreset): SettingChange | null => {
    const limit = limitIn(session.cwd) ?? preset;
    if (stricter(PRESET_NAMES, preset, limit) !== preset) {
      const reason = `the project's .chimera/config.json allows approval ${limit} at most (${PRESETS[limit]})`;
      throw new SessionError("invalid_setting", reason);
    }
    return of(session) === preset ? null : { approval: preset, warning: WARNINGS[preset] };
  };
  return {
    /** The effective preset of a session in `cwd` with these options. */
    within,
    of,
    change,
    /** Takes effect with the next call, even in a running turn. */
    async switch(session: Session, preset: ApprovalPreset, origin?: string) {
      const old = of(session);
      await session.set(change(session, preset) ?? [], origin);
      return { old, new: preset };
    },
  };
}

// --- internal ---

const READ_ONLY = "Writes and commands are refused";

/** The modes that a preset allows, and their meaning with it. */
function modesUnder(preset: ApprovalPreset, { settings, mode }: Session): OfferedModes {
  switch (preset) {
    case "read-only":
      return {
        current: "read-only",
        modes: { "read-only": `${READ_ONLY} by the approval preset: choose another one to change that` },
        flags: [],
      };
    case "auto":
      return {
        current: settings.readOnly ? "read-only" : settings.autoApproveWrites ? "auto" : "review",
        modes: {
          auto: `${PRESETS.auto} (approval auto)`,
          review: "Asks before edits, and before commands that are not harmless",
          "read-only": READ_ONLY,
        },
        flags: ["auto_approve_writes", "read_only"],
      };
    case "full":
      return {
        current: mode,
        modes: {
          auto: `${PRESETS.full} (approval full)`,
          review: "Asks before edits, and before commands that are not harmless",
          "read-only": READ_ONLY,
        },
        flags: ["auto_approve_writes", "auto_approve_execute", "read_only"],
      };
  }
}

/** Parses a preset that a person typed. Throws `invalid_setting`. */
function parsePreset(text: string): ApprovalPreset {
  const preset = wordIn(PRESET_NAMES, text);
  if (preset) return preset;
  const known = PRESET_NAMES.join(", ");
  throw new SessionError("invalid_setting", `unknown approval preset ${JSON.stringify(text)}; choose one of ${known}`);
}

/** The preset among a session's options, or the strictest one. */
function presetOf(options: Settings["options"] | undefined): ApprovalPreset {
  const { approval } = options ?? {};
  return PRESET_NAMES.find((name) => name === approval) ?? "read-only";
}
