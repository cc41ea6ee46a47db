/** `@chimera/sandbox`: sandbox modes, and confinement of shell commands by the operating system. `./classify` judges commands. */
export type { Confined } from "./confine/backend.js";
export { type Denial, type DenialOptions, findDenial } from "./denial.js";
export { isSandboxError, SandboxError, type SandboxErrorCode } from "./errors.js";
export { type FileAccessOptions, type FileUse, fileAccess } from "./file-access.js";
export { DEFAULT_SANDBOX_MODE, SANDBOX_MODES, type SandboxMode } from "./mode.js";
export {
  findRepositories,
  type RepositorySearch,
  type RepositorySearchOptions,
  type SuspectRepository,
} from "./repositories.js";
export {
  type Availability,
  createSandbox,
  type OsSandbox,
  type Sandbox,
  type SandboxOptions,
  type Workspace,
} from "./sandbox.js";
