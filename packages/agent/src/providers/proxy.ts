/** Connects through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name. Node 20 has no support for proxies. */
import { type Agent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { BlockList, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { orElse } from "@chimera/acp-schema/lenient";
import { AgentError } from "../errors.js";
import type { Env } from "./table.js";

/** The proxy for an address; null for a direct connection, which loopback addresses always get. */
export function proxyFor(url: URL, env: Env): URL | null {
  const setting = variable(env, `${url.protocol.slice(0, -1)}_proxy`);
  if (!setting || isLoopback(url.hostname) || isExempt(url, variable(env, "no_proxy") ?? "")) return null;
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(setting) ? setting : `http://${setting}`;
  const proxy = URL.canParse(address) ? new URL(address) : null;
  if (proxy?.protocol === "http:" || proxy?.protocol === "https:") return proxy;
  throw new AgentError("model_unavailable", `the proxy for ${url.host} is not an http(s) address`);
}

/** Headers for the proxy itself. */
export function proxyHeaders({ username, password }: URL): Record<string, string> {
  if (!username) return {};
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}` };
}

/** An agent whose connections to https servers are tunnels through the proxy. */
export function createTunnelAgent(proxy: URL, options: ConstructorParameters<typeof Agent>[0]): HttpsAgent {
  const agent = new HttpsAgent(options);
  Object.assign(agent, {
    createConnection(target: TunnelTarget, done: (error: Error | null, socket?: Socket) => void) {
      openTunnel(proxy, target).then(
        (socket) => done(null, connectTls({ ...target, socket, servername: target.servername ?? target.host })),
        done,
      );
    },
  });
  return agent;
}

// --- internal ---

const CONNECT_MS = 30_000;

interface TunnelTarget {
  readonly host: string;
  readonly port: number;
  readonly servername?: string;
}

function variable(env: Env, name: string): string | undefined {
  return env[name] || env[name.toUpperCase()] || undefined;
}

function isLoopback(hostname: string): boolean {
  return /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/i.test(hostname);
}

/** Entries are hosts, domains (with their subdomains), addresses or address ranges, each with or without a port; `*` matches all. */
function isExempt({ hostname, port, protocol }: URL, list: string): boolean {
  const host = hostname.toLowerCase().replace(/^\[|\]$/g, "");
  const actualPort = port || (protocol === "https:" ? "443" : "80");
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean)
    .some((entry) => {
      const [, name = "", wantedPort] = /^\[?(.+?)\]?(?::(\d+))?$/.exec(isIP(entry) ? `[${entry}]` : entry) ?? [];
      if (wantedPort !== undefined && wantedPort !== actualPort) return false;
      const domain = name.replace(/^\*?\./, "");
      return name === "*" || host === domain || host.endsWith(`.${domain}`) || isWithin(host, name);
    });
}

function isWithin(host: string, range: string): boolean {
  const [network = "", bits] = range.split("/");
  const family = isIP(host);
  if (bits === undefined || family === 0 || isIP(network) !== family) return false;
  const list = new BlockList();
  const kind = family === 4 ? "ipv4" : "ipv6";
  // It throws for a range that is none.
  orElse(() => list.addSubnet(network, Number(bits), kind), undefined);
  return list.check(host, kind);
}

function openTunnel(proxy: URL, { host, port }: TunnelTarget): Promise<Socket> {
  const target = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  return new Promise((resolve, reject) => {
    const asked = (proxy.protocol === "https:" ? httpsRequest : httpRequest)({
      hostname: proxy.hostname.replace(/^\[|\]$/g, ""),
      port: proxy.port,
      method: "CONNECT",
      path: target,
      headers: { host: target, ...proxyHeaders(proxy) },
      agent: false,
      timeout: CONNECT_MS,
    });
    asked.once("connect", (answer, socket, head) => {
      socket.setTimeout(0);
      if (head.length > 0) socket.unshift(head);
      if (answer.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(refused(proxy, target, answer.statusCode ?? 0));
    });
    asked.once("timeout", () => asked.destroy(new Error("it did not answer")));
    asked.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code ?? cause.message;
      reject(new AgentError("connection_lost", `lost the connection to the proxy ${proxy.host}: ${why}`, { cause }));
    });
    asked.end();
  });
}

function refused(proxy: URL, target: string, status: number): AgentError {
  if (status === 407) return new AgentError("unauthorized", `the proxy ${proxy.host} wants a user and a password`);
  return new AgentError(
    "model_unavailable",
    `the proxy ${proxy.host} does not connect to ${target}: it answered ${status}`,
  );
}
