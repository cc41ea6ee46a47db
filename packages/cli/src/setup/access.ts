/** Access: `trust` for directories, `token` for people, `audit verify` for the log of permission decisions. */

import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Invocation, readConfig, UsageError } from "@chimera/host";
import { addPerson, fileList, isPersonName, type ListPlace, parsePeople, removePerson } from "@chimera/host/people";
import { type AuditReport, auditFiles, verifyAudit } from "@chimera/policy";
import { ROLES } from "@chimera/session";
import { requireOperand } from "../actions.js";
import { CliError } from "../errors.js";
import { isSet } from "../flags.js";
import { printLines, printList, printReport } from "../output.js";
import { withStore } from "../store.js";

export async function listTrusted(invocation: Invocation): Promise<number> {
  const rows = readConfig(invocation)
    .trust.list()
    .map((directory) => ({ directory }));
  if (rows.length === 0 && !isSet(invocation.flags, "json")) {
    invocation.process.stderr.write("no directory is trusted\n");
    return 0;
  }
  return printList(invocation, [{ title: "DIRECTORY", cell: ({ directory }) => directory }], rows);
}

/** Works for a deleted directory too, because its name may come back with other files. */
export async function revokeTrust(invocation: Invocation): Promise<number> {
  const { cwd, trust } = readConfig(invocation);
  const directory = resolve(cwd, invocation.operands[0] ?? ".");
  const before = trust.list();
  trust.answer(directory, false);
  if (trust.list().length === before.length) throw new CliError("not_found", `${directory} was not trusted`);
  printLines(invocation, [`${directory} is no longer trusted`]);
  return 0;
}

export async function addToken(invocation: Invocation): Promise<number> {
  const name = requireOperand(invocation, "the person: a name, or an address");
  const role = ROLES.find((one) => one === (invocation.flags["role"] ?? "user"));
  if (!role) throw new UsageError(`--role takes ${ROLES.join(", ")}`);
  if (!isPersonName(name)) throw new UsageError("a name has letters, digits and . _ @ + - and at most 128 of them");
  const token = await withPeople(invocation, (place) => addPerson(place, { name, role }));
  invocation.process.stderr.write(`the token of ${name} (${role}); it is shown only once:\n`);
  return printReport(invocation, { name, role, token }, [token]);
}

export async function listTokens(invocation: Invocation): Promise<number> {
  const rows = await withPeople(invocation, async (place) => parsePeople(await place.read()));
  const people = rows.map(({ name, role, created }) => ({ name, role, created }));
  if (people.length === 0) invocation.process.stderr.write("nobody has a token\n");
  const lines = people.map(({ name, role, created }) => `${name}  ${role}  ${created}`);
  return printReport(invocation, { people }, lines);
}

export async function revokeToken(invocation: Invocation): Promise<number> {
  const name = requireOperand(invocation, "the person");
  await withPeople(invocation, (place) => removePerson(place, name));
  return printReport(invocation, { name, revoked: true }, [
    `${name} can no longer call; servers close open streams within a second`,
  ]);
}

export async function verifyAuditLog(invocation: Invocation): Promise<number> {
  const [named] = invocation.operands;
  const path = named && resolve(invocation.process.cwd(), named);
  if (path && !existsSync(path)) throw new CliError("not_found", `there is no ${path}`);
  const report = path ? await verifyAudit(auditFiles(path)) : await verifyKeptAudit(invocation);
  const chains = report.files === 1 ? "1 chain" : `${report.files} chains`;
  printReport(invocation, report, [
    ...report.problems.map(({ file, line, problem }) => `${file}${line === null ? "" : `:${line}`}: ${problem}`),
    `${report.entries} entries in ${chains}: ${report.ok ? "intact" : "CHANGED"}`,
  ]);
  return report.ok ? 0 : 1;
}

/** Verifies all audit chains of the store. */
export async function verifyKeptAudit(invocation: Invocation): Promise<AuditReport> {
  return withStore(invocation, async ({ kept }) => verifyAudit((await kept()).chains));
}

// --- internal ---

/** Opens the list of people, which is where the sessions are: in the database, or in a file. */
function withPeople<T>(invocation: Invocation, work: (place: ListPlace) => Promise<T>): Promise<T> {
  return withStore(invocation, ({ shared, paths }) => work(shared?.people ?? fileList(paths.people)));
}
