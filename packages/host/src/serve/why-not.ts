/** Says why an address is not served. Loaded only then. */
import { isHostError } from "../errors.js";
import { type HttpAddress, nameOf } from "./listen-addresses.js";

/** @param flag chooses another port */
export function whyNot(program: string, where: string, address: HttpAddress, flag: string, error: unknown): string {
  const isPort = address.kind === "port";
  if (isHostError(error)) {
    return `ERROR: ${program} serve ${error.message}. Stop it first or use a different ${isPort ? flag : "path"}.`;
  }
  const { code, message } = error as NodeJS.ErrnoException;
  const reason =
    isPort && code === "EADDRINUSE"
      ? `another program has port ${address.port}; choose another with ${flag} <port>`
      : message;
  return `${where}: cannot listen on ${isPort ? `${address.host}:${address.port}` : nameOf(address)}: ${reason}`;
}
