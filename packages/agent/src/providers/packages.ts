/** Providers that the person adds. Each is an installed package of the AI SDK with a name for its models. Nothing is loaded here. */
import { readFile } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { isJsonObject, type JsonObject, parseJson } from "../json.js";

export interface ProviderPackage {
  /** The package's name, or the path of its directory. */
  readonly package: string;
  /** Options for its provider, such as `region` or `baseURL`. Keys can stay in the environment variables that the package reads. */
  readonly options?: JsonObject;
  /** In tokens. @defaultValue 128,000 */
  readonly contextWindow?: number | null;
}

export interface ProviderPackages {
  /** Provider name -> package: `bedrock` serves `bedrock/MODEL`. These win over built-in providers. */
  readonly rows: Readonly<Record<string, ProviderPackage>>;
  /** The directory whose `node_modules` has the packages. Relative paths start there too. */
  readonly directory: string;
}

export interface PackagedModel {
  readonly provider: string;
  /** The model's name in the package. */
  readonly model: string;
}

/**
 * Finds the row for a model's name; null for a model of another provider.
 *
 * @example
 * packagedModel("bedrock/nova", { bedrock: { package: "@ai-sdk/amazon-bedrock" } });
 */
export function packagedModel(name: string, rows: ProviderPackages["rows"]): PackagedModel | null {
  const trimmed = name.trim();
  const at = trimmed.indexOf("/");
  const provider = Object.keys(rows).find((row) => row.toLowerCase() === trimmed.slice(0, at).toLowerCase());
  return at < 0 || provider === undefined ? null : { provider, model: trimmed.slice(at + 1) };
}

/**
 * Finds an installed package: the file to import, and its version. Null when it is not installed.
 *
 * @example
 * const found = await findPackage("@ai-sdk/mistral", directory);
 */
export async function findPackage(
  spec: string,
  directory: string,
): Promise<{ readonly entry: string; readonly version: string } | null> {
  const isPath = isAbsolute(spec) || spec.startsWith(".");
  const [name, subpath] = isPath ? [spec, "."] : splitSpec(spec);
  const folder = isPath ? resolve(directory, spec) : join(directory, "node_modules", name);
  const manifest = parseJson(await readFile(join(folder, "package.json"), "utf8").catch(() => ""));
  if (!isJsonObject(manifest)) return null;
  const entry = entryOf(manifest, subpath);
  return entry ? { entry: join(folder, entry), version: String(manifest["version"] ?? "") } : null;
}

/**
 * The command that installs a package where `findPackage` searches.
 *
 * @example
 * console.error(`Run: ${installCommand("@ai-sdk/mistral", directory)}`);
 */
export function installCommand(spec: string, directory: string): string {
  return `npm install --prefix ${directory} ${splitSpec(spec)[0]}`;
}

// --- internal ---

/** `@ai-sdk/google-vertex/anthropic` -> `@ai-sdk/google-vertex` and `./anthropic`. */
function splitSpec(spec: string): [name: string, subpath: string] {
  const parts = spec.split("/");
  const length = spec.startsWith("@") ? 2 : 1;
  return [parts.slice(0, length).join("/"), [".", ...parts.slice(length)].join("/")];
}

/** Follows Node's rules for imports. Node's own resolver would search only from where this program is installed. */
function entryOf({ exports, main }: JsonObject, subpath: string): string | null {
  if (exports === undefined) return subpath === "." ? String(main ?? "index.js") : subpath;
  const isMap = isJsonObject(exports) && Object.keys(exports).some((key) => key.startsWith("."));
  if (isMap) return targetOf(exports[subpath]);
  return subpath === "." ? targetOf(exports) : null;
}

const CONDITIONS = new Set(["node", "import", "default"]);

function targetOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(targetOf).find((target) => target !== null) ?? null;
  if (!isJsonObject(value)) return null;
  const fitting = Object.entries(value).filter(([condition]) => CONDITIONS.has(condition));
  return fitting.map(([, inner]) => targetOf(inner)).find((target) => target !== null) ?? null;
}
