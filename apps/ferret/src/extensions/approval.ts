/** Approval presets: how much runs without asking. Can be switched while a session lives. */
import { lazyMethods } from "@chimera/acp-server";
import type { ProgramExtension } from "@chimera/host";
import { type ApprovalPreset, PRESETS, parsePreset, presetOf, switchPreset, WARNINGS } from "../approval/preset.js";
import { chosen } from "../shorthand.js";

export const approvalExtension: ProgramExtension = {
  name: "approval",
  start(context) {
    const preset = chosen(context, "approval") as ApprovalPreset;
    const choices = Object.entries(PRESETS).map(([id, description]) => ({ id, name: id, description }));
    const warning = WARNINGS[preset];
    return {
      warnings: warning ? [warning] : [],
      options: { approval: preset },
      protocol: {
        name: "approval",
        capabilities: { approval: true },
        options: [
          {
            id: "approval",
            name: "Approval",
            description: "How much runs without asking",
            choices,
            current: (session) => presetOf(session.settings.options),
            set: (session, value, origin) => void switchPreset(session, value as ApprovalPreset, origin),
          },
        ],
        methods: (connection) =>
          lazyMethods(["session/setApproval"], async () =>
            (await import("../methods/set-approval.js")).setApproval(connection),
          ),
      },
      commands: [
        {
          name: "approval",
          description: "Show or switch the approval preset",
          hint: `[${Object.keys(PRESETS).join(" | ")}]`,
          run({ session, args }) {
            if (!args) return `approval: ${presetOf(session.settings.options)}`;
            const { old, new: now } = switchPreset(session, parsePreset(args));
            return [`approval: ${old} -> ${now}`, WARNINGS[now]].filter(Boolean).join("\n");
          },
        },
      ],
      agent: async () => (await import("../approval/narrow.js")).approvalParts(),
    };
  },
};
