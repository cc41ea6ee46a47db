/** Slash commands that show or change parts of the program: its tools, models, agents, trust and permission rules. */
import type { Tool } from "@chimera/agent";
import { allowedTools } from "@chimera/agent/tools";
import { SessionError, type SlashCommand } from "@chimera/session";
import { nearest } from "./command/usage-error.js";
import type { Trust } from "./trust.js";

export function programCommands(deps: {
  readonly tools: () => Promise<readonly Tool[]>;
  readonly permissionsFile: string;
  readonly trust: Trust;
  /** The agents of a directory. */
  readonly agents: (cwd: string) => Promise<readonly { readonly id: string }[]>;
  /** The names that the provider of a model lists; null when it has no list or does not answer. */
  readonly served: (model: string) => Promise<readonly string[] | null>;
}): SlashCommand[] {
  return [
    switching("agent", async (cwd) => (await deps.agents(cwd)).map(({ id }) => id)),
    switching("model", (_, model) => deps.served(model)),
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

// --- internal ---

/** A command that shows or changes a setting. Where the valid names are known, it accepts only those. */
function switching(
  name: "agent" | "model",
  namesFor: (cwd: string, wanted: string) => Promise<readonly string[] | null>,
): SlashCommand {
  return {
    name,
    description: `Show or switch the ${name}`,
    hint: "[name]",
    async run({ session, args }) {
      const old = session.settings[name];
      if (!args) return `${name}: ${old}`;
      const listed = await namesFor(session.cwd, args);
      if (listed) requireListed(name, args, listed);
      await session.set(name === "agent" ? { agent: args } : { model: args });
      return `${name}: ${old} -> ${args}`;
    },
  };
}

/** Throws `invalid_setting` with the nearest name. */
function requireListed(what: string, name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const near = nearest(name, known);
  const hint = near === undefined ? `one of ${known.slice(0, 8).join(", ")}` : `did you mean ${near}?`;
  throw new SessionError("invalid_setting", `there is no ${what} ${JSON.stringify(name)}; ${hint}`);
}
