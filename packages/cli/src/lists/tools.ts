/** `tools`: what the agent can do, by the names `--allowed-tools` takes. */
import { type Invocation, openCore } from "@chimera/host";
import { isSet } from "../flags.js";
import { printJson, printLines, screenWidth } from "../output.js";
import { renderTable } from "../terminal/table.js";

export async function listTools(invocation: Invocation): Promise<number> {
  const tools = await offered(invocation);
  if (isSet(invocation.flags, "json")) {
    printJson(
      invocation,
      tools.map(({ name, aliases, description, inputSchema }) => ({
        name,
        aliases,
        description,
        input_schema: inputSchema,
      })),
    );
    return 0;
  }
  const columns = [
    { title: "NAME", cell: (tool: (typeof tools)[number]) => tool.name },
    { title: "ALSO", cell: (tool: (typeof tools)[number]) => tool.aliases.join(", ") },
    { title: "DESCRIPTION", cell: (tool: (typeof tools)[number]) => firstSentence(tool.description) },
  ];
  printLines(invocation, await renderTable(columns, tools, screenWidth(invocation)));
  return 0;
}

// --- internal ---

/** Asked of the core: a program may offer more than the built-in ones, or less, as ferret does in its sandbox. */
async function offered(invocation: Invocation) {
  const { core } = await openCore(invocation);
  try {
    return await core.tools();
  } finally {
    await core.close();
  }
}

function firstSentence(text: string): string {
  return /^.*?[.:](?=\s|$)/s.exec(text)?.[0] ?? text;
}
