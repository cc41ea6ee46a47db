/** The Host allow-list: what stands between this server and a web page that points a name of its own at loopback. */
const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];
const HOST = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** Names are compared without their port and whatever their case; anything that is not plainly a name is refused. */
export function createHostCheck(further: readonly string[]): (header: string | undefined) => boolean {
  const allowed = new Set([...LOOPBACK, ...further.map(canonical)]);
  return (header) => {
    const name = HOST.exec(header?.toLowerCase() ?? "")?.[1];
    return name !== undefined && allowed.has(name);
  };
}

// --- internal ---

function canonical(host: string): string {
  const name = host.toLowerCase();
  return name.includes(":") && !name.startsWith("[") ? `[${name}]` : name;
}
