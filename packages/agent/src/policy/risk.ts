/** How much a call could hurt, for people who are asked about it. A label, not a wall. */
import type { Risk } from "@chimera/acp-schema/events";
import type { PolicyCall } from "../policy-port.js";

/** The highest risk of the command, of the paths and of the kind of tool. */
export function riskOf({ tool, touches }: PolicyCall): Risk {
  const risks: Risk[] = [
    READERS.has(tool.kind) ? "low" : "medium",
    ...[...touches.reads, ...touches.writes].map(pathRisk),
    ...(touches.command === undefined ? [] : [commandRisk(touches.command)]),
  ];
  return risks.reduce((worst, risk) => (ORDER.indexOf(risk) > ORDER.indexOf(worst) ? risk : worst));
}

/** Files that hold secrets or steer the system. */
export function pathRisk(path: string): Risk {
  return PATHS.find(({ pattern }) => pattern.test(path))?.risk ?? "low";
}

export function commandRisk(command: string): Risk {
  const words = command.slice(0, MAX_LOOKED_AT).split(WORD_BREAK);
  return COMMANDS.find(({ when }) => when(words, command))?.risk ?? "medium";
}

// --- internal ---

const ORDER: readonly Risk[] = ["low", "medium", "high", "critical"];
const READERS: ReadonlySet<string> = new Set(["read", "search", "think"]);
const MAX_LOOKED_AT = 4096;
const WORD_BREAK = /[\s;&|()"'`]+/;

const PATHS: readonly { readonly pattern: RegExp; readonly risk: Risk }[] = [
  { pattern: /(?:^|[\\/])\.(?:ssh|gnupg|aws)(?:[\\/]|$)/i, risk: "critical" },
  { pattern: /(?:^|[\\/])(?:credentials|secrets|tokens)\.(?:json|ya?ml|toml)$/i, risk: "critical" },
  { pattern: /(?:^|[\\/])\.env(?:\.(?:local|production|development))?$/i, risk: "high" },
  { pattern: /(?:^|[\\/])\.(?:netrc|npmrc|pypirc)$/i, risk: "high" },
  { pattern: /^[\\/](?:etc|proc|sys|dev|boot)[\\/]/, risk: "high" },
  { pattern: /(?:^|[\\/])\.git[\\/]/i, risk: "medium" },
];

type Words = readonly string[];

const COMMANDS: readonly { readonly risk: Risk; readonly when: (words: Words, command: string) => boolean }[] = [
  { risk: "critical", when: (words) => flagsOf(words, "rm").some((flags) => /r/i.test(flags) && flags.includes("f")) },
  {
    risk: "critical",
    when: (words, command) => has(words, "curl", "wget") && has(words, "sh", "bash", "zsh") && command.includes("|"),
  },
  { risk: "critical", when: (words) => has(words, "DROP", "DELETE", "TRUNCATE", "mkfs", "shred") },
  { risk: "high", when: (words) => flagsOf(words, "rm").some((flags) => /r/i.test(flags)) },
  { risk: "high", when: (words) => has(words, "sudo", "doas", "dd") },
  { risk: "high", when: (words) => has(words, "chmod") && words.some((word) => /^0?777$/.test(word)) },
  {
    risk: "high",
    when: (words) => has(words, "push") && words.some((word) => word === "-f" || word.startsWith("--force")),
  },
  { risk: "high", when: (words) => has(words, "reset") && has(words, "--hard") },
  { risk: "high", when: (_, command) => command.length > MAX_LOOKED_AT },
];

function has(words: Words, ...names: string[]): boolean {
  return words.some((word) => names.includes(word.slice(word.lastIndexOf("/") + 1)));
}

/** The flags of each call of a program, joined: `rm -r -f x` gives `-r-f`. */
function flagsOf(words: Words, program: string): string[] {
  return words.flatMap((word, at) => {
    if (!has([word], program)) return [];
    const rest = words.slice(at + 1, at + 11);
    const end = rest.findIndex((flag) => !flag.startsWith("-"));
    const flags = end === -1 ? rest : rest.slice(0, end);
    return [flags.join("").replace("--recursive", "-r").replace("--force", "-f")];
  });
}
