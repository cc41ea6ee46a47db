/** The remote that was asked for, out of flags and environment. */
import { checkRemote, isBridgeError, type Remote } from "@chimera/bridge";
import { type ExtensionContext, UsageError } from "@chimera/host";
import { TOKEN_VARIABLE } from "./flags.js";

/** Null when no bridge was asked for; throws a UsageError for one that cannot be. */
export function readRemote({ flags, env }: Pick<ExtensionContext, "flags" | "env">): Remote | null {
  const remoteUrl = flags["remote-url"] as string | undefined;
  if (remoteUrl === undefined) {
    if (flags["bridge"]) throw new UsageError("--bridge needs --remote-url <url>");
    return null;
  }
  const token = ((flags["bridge-token"] as string | undefined) ?? env[TOKEN_VARIABLE] ?? "").trim();
  if (token === "") throw new UsageError(`the bridge needs a token: set ${TOKEN_VARIABLE}`);
  const remote: Remote = { remoteUrl, token, insecure: flags["insecure"] === true };
  try {
    checkRemote(remote);
  } catch (error) {
    throw isBridgeError(error) ? new UsageError(`--remote-url: ${error.message}`) : error;
  }
  return remote;
}
