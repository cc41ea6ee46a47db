/** Slash commands that need to know the program: its tools and its permission rules. */
import type { Tool } from "@chimera/agent";
import { loadRuleset } from "@chimera/agent/policy";
import type { SlashCommand } from "@chimera/session";

export function programCommands(deps: {
  readonly tools: () => Promise<readonly Tool[]>;
  readonly permissionsFile: string;
}): SlashCommand[] {
  return [
    {
      name: "tools",
      description: "List the tools",
      async run({ session }) {
        const allowed = session.settings.allowedTools?.map((name) => name.toLowerCase());
        const offered = (await deps.tools()).filter(
          ({ name, aliases }) =>
            !allowed || [name, ...aliases].some((candidate) => allowed.includes(candidate.toLowerCase())),
        );
        return offered.map(({ name, description }) => `${name}: ${description.split("\n", 1)[0]}`).join("\n");
      },
    },
    {
      name: "permissions",
      description: "Show the permission rules and the mode",
      async run({ session }) {
        const { rules, problems } = await loadRuleset(deps.permissionsFile);
        const lines = rules.map(
          ({ tool, action, argKey, argPattern }, index) =>
            `${index}. ${action} ${tool}${argKey ? ` ${argKey}=${argPattern}` : ""}`,
        );
        return [`mode: ${session.mode}`, ...(lines.length > 0 ? lines : ["no rules"]), ...problems].join("\n");
      },
    },
  ];
}
