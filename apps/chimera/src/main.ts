#!/usr/bin/env node
/** `chimera otter …` runs `otter …` in this process, with the same arguments as under its own name. */
import { nearest } from "@chimera/host";
import { tellVersion } from "@chimera/host/version";
import manifest from "../package.json" with { type: "json" };

/** Uses require(), because import() would start the loader of ES modules, which takes longer than everything else here. */
const PROGRAMS: Readonly<
  Record<string, { readonly run: () => unknown; readonly about: () => { description: string } }>
> = {
  otter: {
    run: () => require("@chimera/otter/dist/cli.js"),
    about: () => require("@chimera/otter/package.json"),
  },
  ferret: {
    run: () => require("@chimera/ferret/dist/cli.js"),
    about: () => require("@chimera/ferret/package.json"),
  },
};

const { version } = manifest;

if (!tellVersion({ name: "chimera", version }, process)) dispatch(asked(process.argv.slice(2)));

// --- internal ---

/** `help otter` means `otter --help`, and no arguments mean `--help`. */
function asked([name = "help", ...rest]: readonly string[]): readonly string[] {
  return name === "help" ? [...rest, "--help"] : [name, ...rest];
}

function dispatch([name = "", ...rest]: readonly string[]): void {
  if (Object.hasOwn(PROGRAMS, name)) {
    process.argv.splice(1, process.argv.length, `chimera ${name}`, ...rest);
    PROGRAMS[name]?.run();
  } else if (name === "--help" || name === "-h") {
    // Ignore the error when a reader closes the pipe early.
    process.stdout.on("error", () => {});
    process.stdout.write(help());
  } else {
    const close = nearest(name, Object.keys(PROGRAMS));
    const hint = close ? `did you mean ${close}?` : "see chimera --help";
    process.stderr.write(`chimera: unknown program ${JSON.stringify(name)}; ${hint}\n`);
    process.exitCode = 2;
  }
}

function help(): string {
  const width = Math.max(...Object.keys(PROGRAMS).map((name) => name.length)) + 2;
  const rows = Object.entries(PROGRAMS).map(([name, { about }]) => `  ${name.padEnd(width)}${about().description}`);
  return [
    `chimera ${version}: starts a coding agent by its name`,
    "",
    "Usage: chimera <program> [arguments]",
    "       chimera <program> --help",
    "",
    "Programs:",
    ...rows,
    "",
    "Options:",
    "  -h, --help     Show this help",
    "  -V, --version  Show the version",
    "",
    "Example: chimera otter serve --port 5173",
    "",
  ].join("\n");
}
