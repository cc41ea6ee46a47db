// The programs that tests need and npm cannot bring, installed by the system's package manager.
import { isOnPath, needs } from "./needs.mjs";
import { run } from "./run.mjs";

/**
 * Installs what is missing when this process is root and has apt-get; CHIMERA_NO_INSTALL=1 turns that off. Nothing here is
 * fatal: a test whose program is still missing is listed as not run.
 *
 * @param {(text: string) => void} say
 */
export async function installPrograms(say) {
  if (process.env.CHIMERA_NO_INSTALL || process.getuid?.() !== 0 || !isOnPath("apt-get")) return;
  const packages = [];
  for (const { apt, isMet } of needs) if (apt && !(await isMet())) packages.push(apt);
  if (packages.length === 0) return;
  say(`installing ${packages.join(", ")} with apt-get, for the tests (CHIMERA_NO_INSTALL=1 leaves them out)`);
  await aptGet("update");
  if (await aptGet(...install, ...packages)) return;
  // One package that this system does not have must not keep the others out.
  for (const one of packages) if (!(await aptGet(...install, one))) say(`apt-get could not install ${one}`);
}

// --- internal ---

const install = ["install", "-y", "--no-install-recommends"];
// A mirror that does not answer is given up soon, and so is a lock that another program holds.
const limits = ["-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=20", "-o", "DPkg::Lock::Timeout=60"];

/** Whether it succeeded; what it said is shown when it did not. */
async function aptGet(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const { code, output } = await run("apt-get", ["-qq", ...limits, ...args], { env });
  if (code !== 0) process.stderr.write(`${output.trimEnd()}\n`);
  return code === 0;
}
