// The packages as the registry would take them: packed, judged by publint and attw, and published without sending anything.
import { readFileSync } from "node:fs";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { mapConcurrently, run } from "../run.mjs";

const shell = process.platform === "win32";

/**
 * @param {import("../workspace.mjs").Package[]} packages
 * @param {string} scratch where the tarballs go
 * @returns {Promise<{ tarballs: { owner: import("../workspace.mjs").Package, tarball: string }[], problems: string[] }>}
 */
export async function packAll(packages, scratch) {
  const packed = await mapConcurrently(packages, 2, async (owner) => {
    const args = ["pack", "--json", "--pack-destination", scratch];
    const { code, stdout, output } = await run("pnpm", args, { cwd: owner.path, shell });
    if (code !== 0) return { problems: [`${owner.dir} does not pack: ${output.trim()}`] };
    const { filename } = JSON.parse(stdout.slice(stdout.indexOf("{")));
    return { owner, tarball: filename, problems: await judge(owner, readFileSync(filename)) };
  });
  const tarballs = packed.filter(({ tarball }) => tarball !== undefined);
  return { tarballs, problems: packed.flatMap(({ problems }) => problems) };
}

/** The release's own command, up to the upload: lifecycle scripts run and every manifest is made. */
export async function publishDry(root) {
  const { code, output } = await run("pnpm", ["publish", "-r", "--dry-run", "--no-git-checks"], { cwd: root, shell });
  return code === 0 ? [] : [`the packages do not publish: ${output.trim()}`];
}

// --- internal ---

async function judge(owner, bytes) {
  const tarball = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  const { messages, pkg } = await publint({ strict: true, level: "warning", pack: { tarball } });
  return [
    ...messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false })}`),
    ...(await judgeTypes(owner, bytes)),
  ].map((problem) => `${owner.dir}/package.json ${problem}`);
}

/** ESM only by design: how CommonJS and the oldest resolver would see the package does not matter. */
async function judgeTypes(owner, bytes) {
  if (Object.keys(owner.entries).length === 0) return [];
  const { problems = [] } = await checkPackage(createPackageFromTarballData(new Uint8Array(bytes)));
  return problems
    .filter(({ resolutionKind }) => resolutionKind !== "node10" && resolutionKind !== "node16-cjs")
    .map((problem) => `types: ${problem.kind} at ${problem.entrypoint ?? JSON.stringify(problem)}`);
}
