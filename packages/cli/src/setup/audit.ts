/** `audit verify`: whether the record of permission decisions is as it was written. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { type Invocation, resolvePaths } from "@chimera/host";
import { verifyAudit } from "@chimera/policy";
import { CliError } from "../errors.js";
import { printReport } from "../output.js";

export async function verifyAuditLog(invocation: Invocation): Promise<number> {
  const { operands, process } = invocation;
  const [named] = operands;
  const path = named === undefined ? resolvePaths(process.env).audit : resolve(process.cwd(), named);
  if (named !== undefined && !existsSync(path)) throw new CliError("not_found", `there is no ${path}`);
  const report = await verifyAudit(path);
  printReport(invocation, report, [
    ...report.problems.map(({ file, line, problem }) => `${file}${line === null ? "" : `:${line}`}: ${problem}`),
    `${report.entries} entries in ${report.files} files: ${report.ok ? "intact" : "CHANGED"}`,
  ]);
  return report.ok ? 0 : 1;
}
