/** Help texts, drawn from the same rows that parse the flags. */
import type { Profile } from "../profile.js";
import type { Command } from "./command.js";
import { COMMON_FLAGS } from "./parse.js";

export function programHelp(profile: Profile, commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => command.name.length)) + 2;
  const rows = commands.map((command) => `  ${command.name.padEnd(width)}${command.summary}`);
  return [
    `${profile.name} ${profile.version}: ${profile.tagline}`,
    "",
    `Usage: ${profile.name} <command> [options]`,
    "",
    "Commands:",
    ...rows,
    "",
    "Options:",
    "  -h, --help     Show this help, or a command's: <command> --help",
    "      --version  Show the version",
    "",
  ].join("\n");
}

export function commandHelp(profile: Profile, command: Command): string {
  const flags = Object.entries({ ...command.flags, ...COMMON_FLAGS });
  const heads = flags.map(([name, { short, value }]) => {
    return `  ${short ? `-${short}, ` : "    "}--${name}${value ? ` ${value}` : ""}`;
  });
  const width = Math.max(...heads.map((head) => head.length)) + 2;
  const operands = command.operands ? ` ${command.operands}` : "";
  return [
    command.summary,
    "",
    `Usage: ${profile.name} ${command.name}${operands} [options]`,
    "",
    "Options:",
    ...flags.map(([, { help }], index) => `${heads[index]!.padEnd(width)}${help}`),
    "",
    `Example: ${command.example}`,
    "",
  ].join("\n");
}
