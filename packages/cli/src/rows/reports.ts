/** `stats`, `share`, `export`, `import`: reports on sessions, and sessions as files. */
import type { Command } from "@chimera/host";
import { loaded } from "../actions.js";
import { ALL_PROGRAMS_FLAG, alsoSpelled, JSON_FLAG, SINCE_FLAG, STORE_FLAG } from "../flags.js";

export function reportCommands(name: string): Command[] {
  return [
    {
      name: "stats",
      summary: "Runs, tokens and cost in figures",
      flags: {
        ...alsoSpelled(
          {
            ...SINCE_FLAG,
            model: { type: "string", value: "<part>", help: "Only models whose name has this part" },
            format: { type: "string", value: "<format>", help: "text (default) or json" },
          },
          "stats",
        ),
        "sessions-model": { type: "string", value: "<part>", help: "The same as --model" },
        "output-format": { type: "string", value: "<format>", help: "The same as --format" },
        ...ALL_PROGRAMS_FLAG,
        ...STORE_FLAG,
        ...JSON_FLAG,
      },
      example: `${name} stats --since 30d`,
      load: loaded(async () => (await import("../reports/cost.js")).showStats),
    },
    {
      name: "share",
      summary: "Write a session's transcript to a file, a collector or stdout",
      operands: "<id>",
      maxOperands: 1,
      flags: {
        sink: { type: "string", value: "<sink>", help: "file (default), http or stdout" },
        format: { type: "string", value: "<format>", help: "html (default), md or json" },
        url: {
          type: "string",
          value: "<url>",
          help: `http: where to post it (default: $${name.toUpperCase()}_SHARE_URL)`,
        },
        ...STORE_FLAG,
        ...JSON_FLAG,
      },
      example: `${name} share otter-20260425T120300-aaaa1111 --format md`,
      load: loaded(async () => (await import("../reports/export.js")).shareSession),
    },
    {
      name: "export",
      summary: "Write a session to a file that can be imported, or as a document",
      operands: "<id> [json | md | html]",
      maxOperands: 2,
      flags: {
        ...alsoSpelled(
          {
            format: { type: "string", value: "<format>", help: "json (default), md or html" },
            output: { type: "string", short: "o", value: "<path>", help: "Where to (default: stdout)" },
          },
          "export",
        ),
        layout: {
          type: "string",
          value: "<layout>",
          help: "bundle (default), or files: a directory, one file per event",
        },
        ...STORE_FLAG,
        ...JSON_FLAG,
      },
      example: `${name} export otter-20260425T120300-aaaa1111 --output run.json`,
      load: loaded(async () => (await import("../reports/export.js")).exportSession),
    },
    {
      name: "import",
      summary: "Import an exported session",
      operands: "<file | directory> [<new-id>]",
      maxOperands: 2,
      flags: {
        overwrite: { type: "boolean", help: "Replace a session of that id" },
        "import-overwrite": { type: "boolean", help: "The same as --overwrite" },
        ...STORE_FLAG,
        ...JSON_FLAG,
      },
      example: `${name} import run.json`,
      load: loaded(async () => (await import("../reports/import.js")).importSession),
    },
  ];
}
