/** Approval presets: how much runs without asking. Can be switched while a session lives. */
import { lazyMethods } from "@chimera/acp-server";
import type { ProgramExtension } from "@chimera/host";
import { createApprovals } from "../approval/approvals.js";
import { type ApprovalPreset, PRESET_NAMES, PRESETS, parsePreset, WARNINGS } from "../approval/preset.js";
import { projectBounds } from "../project-bounds.js";
import { chosen } from "../shorthand.js";

export const approvalExtension: ProgramExtension = {
  name: "approval",
  start(context) {
    const { flags, under } = context;
    const approvals = createApprovals(projectBounds(context));
    // Without the project of this directory: each session is held to that of its own.
    const preset = chosen({ flags, values: under(null).values }, "approval") as ApprovalPreset;
    const choices = Object.entries(PRESETS).map(([id, description]) => ({ id, name: id, description }));
    const warning = WARNINGS[preset];
    return {
      warnings: warning ? [warning] : [],
      options: { approval: preset },
      orders: { approval: PRESET_NAMES },
      protocol: {
        name: "approval",
        capabilities: { approval: true },
        options: [
          {
            id: "approval",
            name: "Approval",
            description: "How much runs without asking",
            choices,
            current: approvals.of,
            async set(session, value, origin) {
              await approvals.switch(session, value as ApprovalPreset, origin);
            },
          },
        ],
        methods: (connection) =>
          lazyMethods(["session/setApproval"], async () =>
            (await import("../methods/set-approval.js")).setApproval(connection, approvals),
          ),
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
      agent: async () => (await import("../approval/narrow.js")).approvalParts(approvals),
    };
  },
};
