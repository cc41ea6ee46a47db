/** The addresses of a server: each `--listen` gives one, and `--acp`, `--http`, `--host` and `--port` are short for one. */
import { resolve } from "node:path";
import { UsageError } from "../command/usage-error.js";

export type ListenAddress = StdioAddress | PortAddress | SocketAddress;

interface StdioAddress {
  readonly kind: "stdio";
}

export interface PortAddress {
  readonly kind: "port";
  readonly scheme: "http" | "https";
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** A socket that a service manager has bound already. */
  readonly fd?: number;
}

/** A Unix socket, which only the server's user can open. */
export interface SocketAddress {
  readonly kind: "socket";
  readonly path: string;
}

export type HttpAddress = PortAddress | SocketAddress;

/** The addresses of the short flags, then those of `--listen`. Throws a UsageError for an address that cannot be listened on, or is given twice. */
export function readListenAddresses(
  short: readonly ListenAddress[],
  texts: readonly string[],
): readonly ListenAddress[] {
  const named = texts.map((text) => {
    const scheme = /^[a-z]+:/.exec(text)?.[0] ?? "";
    const address = Object.hasOwn(SCHEMES, scheme) ? SCHEMES[scheme]?.(text) : undefined;
    if (address) return address;
    throw new UsageError(
      `--listen takes stdio:, http://host:port, https://host:port or unix:/path, not ${JSON.stringify(text)}`,
    );
  });
  const addresses = [...short, ...named];
  const names = addresses.filter((address) => !("port" in address && address.port === 0)).map(nameOf);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new UsageError(`cannot listen on ${twice} twice`);
  return addresses;
}

/** The address as a person types it. */
export function nameOf(address: ListenAddress): string {
  if (address.kind === "stdio") return "stdio:";
  return address.kind === "socket" ? `unix:${address.path}` : urlOf(address);
}

export function urlOf({ scheme, host, port }: Pick<PortAddress, "scheme" | "host" | "port">): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

// --- internal ---

/** The most bytes of a socket's path, with the zero at its end. */
const MOST_PATH_BYTES = 104;

/** Parses the addresses of each scheme; undefined for an incomplete address. */
const SCHEMES: Readonly<Record<string, (text: string) => ListenAddress | undefined>> = {
  "stdio:": (text) => (text === "stdio:" ? { kind: "stdio" } : undefined),
  "http:": toPort,
  "https:": toPort,
  "unix:": toSocket,
};

function toPort(text: string): PortAddress | undefined {
  const [, scheme, host = "", digits] = /^(https?):\/\/(\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})\/?$/i.exec(text) ?? [];
  const port = Number(digits);
  if ((scheme !== "http" && scheme !== "https") || port > 65535) return undefined;
  return { kind: "port", scheme, host: host.replace(/^\[|\]$/g, ""), port };
}

function toSocket(text: string): SocketAddress | undefined {
  const given = text.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
  if (given === "" || given.endsWith("/") || given.includes("\0")) return undefined;
  if (process.platform === "win32") throw new UsageError("--listen unix: needs a system with Unix sockets");
  const path = resolve(given);
  if (Buffer.byteLength(path) < MOST_PATH_BYTES) return { kind: "socket", path };
  throw new UsageError(`${path} is too long for a socket: the system takes ${MOST_PATH_BYTES - 1} bytes`);
}
