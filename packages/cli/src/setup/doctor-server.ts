/** What `doctor --server` looks at besides: whether people can be let in safely, and whether a server that runs takes work. */
import { X509Certificate } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { readConfig, resolvePaths } from "@chimera/host";
import { fileList, parsePeople } from "@chimera/host/people";
import { addressOf, listPidfiles } from "@chimera/host/pidfile";
import { type Check, fail, ok, warn } from "./finding.js";

const SOON_DAYS = 14;
const DAY_MS = 86_400_000;

export const SERVER_CHECKS: Readonly<Record<string, Check>> = {
  async people(invocation) {
    const { paths, values } = readConfig(invocation);
    if (/^postgres(ql)?:/.test(values.store ?? "")) return ok("in the database: token list shows them");
    const found = await stat(paths.people).catch(() => null);
    const people = parsePeople(await fileList(paths.people).read());
    if (!found || people.length === 0) return warn("nobody has a token of their own", "token add <name>");
    if (process.platform !== "win32" && (found.mode & 0o077) !== 0) {
      return fail(`others can read ${paths.people}`, `chmod 600 ${paths.people}`);
    }
    return ok(people.map(({ name, role }) => `${name} (${role})`).join(", "));
  },

  async certificate(invocation) {
    const { tls_cert: file } = readConfig(invocation).values;
    if (file === null) return ok("none: a proxy ends TLS, or only this machine calls");
    const days = Math.floor((Date.parse(new X509Certificate(await readFile(file)).validTo) - Date.now()) / DAY_MS);
    const said = days < 0 ? `${file} ended ${-days} days ago` : `${file} ends in ${days} days`;
    if (days >= SOON_DAYS) return ok(said);
    return (days < 0 ? fail : warn)(said, "renew it, then send the server SIGHUP");
  },

  async servers({ profile, process, calledAs }) {
    const running = listPidfiles({ prefix: profile.name, directory: resolvePaths(process.env).run }).filter(
      ({ alive, socket }) => alive && socket === undefined,
    );
    if (running.length === 0) return warn("none runs here", `${calledAs} serve`);
    const asked = running.map(async (entry) => {
      const { port, auth_token_hash } = entry;
      const signal = AbortSignal.timeout(3000);
      const status = await fetch(`${addressOf(entry)}/readyz`, { signal }).then(
        (response) => (response.ok ? "takes work" : "takes no work"),
        () => "does not answer",
      );
      return {
        text: `port ${port} ${status}${auth_token_hash === null ? ", without a token" : ""}`,
        isReady: status === "takes work",
      };
    });
    const answers = await Promise.all(asked);
    const found = answers.map(({ text }) => text).join("; ");
    return answers.every(({ isReady }) => isReady) ? ok(found) : fail(found, "look into its log");
  },
};
