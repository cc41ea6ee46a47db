import { realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isInside } from "../confine/paths.js";
import type { PlainWord } from "./plain-script.js";

/** Where relative paths start and which directories belong to the workspace; all absolute. */
export interface Place {
  readonly cwd: string;
  readonly roots: readonly string[];
}

const MAX_PATH = 1024;

/** Harmless places outside a workspace. */
const PUBLIC_FILES = new Set([
  "/dev/null",
  "/dev/stdin",
  "/etc/os-release",
  "/etc/lsb-release",
  "/etc/debian_version",
  "/proc/cpuinfo",
  "/proc/meminfo",
  "/proc/loadavg",
  "/proc/uptime",
  "/proc/version",
]);

/** Names that hold credentials, wherever they are; compared with each step of a path, lower case. */
const SENSITIVE: readonly RegExp[] = [
  /^\.env(?!\.(example|sample|template|dist)$)(\..*|rc)?$/,
  /^\.(ssh|gnupg|aws|azure|kube|docker|netrc|npmrc|pypirc|pgpass|vault-token|htpasswd|git-credentials|password-store|chimera)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)/,
  /^(credentials?|secrets?|tokens?|passwords?|service[-_]account)(\..*)?$/,
  /\.(pem|key|p12|pfx|jks|keystore|kdbx|tfstate|asc|gpg)$/,
  /^(shadow|gshadow|sudoers|environ|authorized_keys|known_hosts)$/,
  /_history$/,
];

/** Why reading this path needs a question, or undefined when it is an ordinary path of the workspace. */
export function pathConcern(word: PlainWord, place: Place): string | undefined {
  const { text } = word;
  if (text === "-" || PUBLIC_FILES.has(text)) return undefined;
  if (text.length > MAX_PATH) return "a path is too long to judge";
  if (isSensitive(text)) return `${text} may hold credentials`;
  const fixed = word.glob ? staticPart(text) : text;
  if (fixed === undefined) return `${text} can match hidden or outside names`;
  const path = resolve(place.cwd, fixed);
  if (!place.roots.some((root) => isInside(path, root))) return `${text} is outside the workspace`;
  const real = realPathOfExisting(path);
  if (!place.roots.some((root) => isInside(real, realPathOfExisting(root))))
    return `${text} leads outside the workspace`;
  return real !== path && isSensitive(real) ? `${text} leads to credentials` : undefined;
}

/** True when some step of the path is a name that holds credentials. */
export function isSensitive(path: string): boolean {
  const steps = path.toLowerCase().split(/[/\\:=]/);
  return (
    steps.some((step) => SENSITIVE.some((pattern) => pattern.test(step))) ||
    /(^|[/:])\.git\/(config|credentials)/.test(path)
  );
}

// --- internal ---

/** The directory a glob cannot leave, or undefined when it can match hidden names or go up. */
function staticPart(pattern: string): string | undefined {
  const steps = pattern.split("/");
  const first = steps.findIndex((step) => /[*?[\]]/.test(step));
  const globbed = steps.slice(first);
  if (globbed.some((step) => step === ".." || step.startsWith(".") || step.startsWith("["))) return undefined;
  return steps.slice(0, first).join("/") || (pattern.startsWith("/") ? "/" : ".");
}

function realPathOfExisting(path: string): string {
  for (let at = path; ; at = dirname(at)) {
    try {
      return resolve(realpathSync.native(at), path.slice(at.length).replace(/^\/+/, ""));
    } catch {
      if (at === dirname(at)) return path;
    }
  }
}
