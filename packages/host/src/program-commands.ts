/** Slash commands that need to know the program: its tools and its permission rules. */
import type { Tool } from "@chimera/agent";
import { allowedTools } from "@chimera/agent/tools";
import { SessionError, type SlashCommand } from "@chimera/session";
import type { Trust } from "./trust.js";

export function programCommands(deps: {
  readonly tools: () => Promise<readonly Tool[]>;
  readonly permissionsFile: string;
  readonly trust: Trust;
}): SlashCommand[] {
  return [
    {
      name: "trust",
      description:
        "Trust this directory for good: its files may choose a model and start MCP servers; or take that back",
      hint: "[revoke]",
      isForOperator: true,
      run({ session, args }) {
        if (args !== "" && args !== "revoke") throw new SessionError("invalid_setting", "/trust or /trust revoke");
        deps.trust.answer(session.cwd, args === "");
        return args === ""
          ? `${session.cwd} is trusted: what its files ask for is used from the next turn on`
          : `${session.cwd} is no longer trusted: what only a trusted one gets is left out from the next turn on`;
      },
    },
    {
      name: "tools",
      description: "List the tools",
      async run({ session }) {
        const offered = allowedTools(await deps.tools(), session.settings.allowedTools);
        return offered.map(({ name, description }) => `${name}: ${description.split("\n", 1)[0]}`).join("\n");
      },
    },
    {
      name: "permissions",
      description: "Show the permission rules and the mode",
      isForOperator: true,
      async run({ session }) {
        const { loadRuleset } = await import("@chimera/policy");
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
