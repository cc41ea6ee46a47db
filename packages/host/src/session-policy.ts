/** The rules of every session, whatever its engine: the person's, the project's and the agent's, with memory, audit and what extensions narrow. */
import { join } from "node:path";
import type { Policy } from "@chimera/acp-schema/policy";
import { lazily } from "@chimera/acp-schema/promises";
import { type LoadedAgents, outputsIn, permissionOf, readTextBeneath, whileUnchanged } from "@chimera/agent/agents";
import type { Paths } from "./paths.js";
import type { AgentParts } from "./profile.js";
import type { Storage } from "./storage.js";

export interface SessionPolicyDeps {
  readonly paths: Paths;
  readonly kept: Storage["kept"];
  readonly agents: (cwd: string) => Promise<LoadedAgents>;
  readonly parts: () => Promise<AgentParts>;
}

export interface SessionPolicy extends Policy {
  /** The problems in the rule files that apply to a directory. */
  problems(cwd: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Makes the policy. Its code is loaded with the first call to decide. */
export function createSessionPolicy({ paths, kept, agents, parts }: SessionPolicyDeps): SessionPolicy {
  const opened = lazily(async () => {
    const {
      classifyCommand,
      createAudit,
      createPolicy,
      createRemembered,
      loadProjectRules,
      loadRuleset,
      PROJECT_RULE_FILES,
    } = await import("@chimera/policy");
    const { classify = classifyCommand, narrow } = await parts();
    const { answers, audit: chain } = await kept();
    const read = whileUnchanged<Awaited<ReturnType<typeof loadRuleset>>>();
    // Checked at every call, so that a change of the rules applies even during a turn.
    const rules = () =>
      read(
        "",
        () => [paths.permissions],
        () => loadRuleset(paths.permissions),
      );
    const projectRules = (cwd: string) =>
      read(
        cwd,
        () => PROJECT_RULE_FILES.map((path) => join(cwd, path)),
        () => loadProjectRules(cwd, readTextBeneath),
      );
    const audit = createAudit(chain);
    const policy = createPolicy({
      rules,
      projectRules,
      agent: async (name, cwd) => permissionOf(name, (await agents(cwd)).agents),
      remembered: createRemembered(answers),
      audit,
      readable: (sessionId) => [outputsIn(paths.outputs, sessionId)],
      hidden: paths.hidden,
      classify,
    });
    return { policy: narrow?.(policy) ?? policy, rules, projectRules, audit };
  });
  return {
    decide: async (call, place) => (await opened.get()).policy.decide(call, place),
    remember: async (...answer) => (await opened.get()).policy.remember(...answer),
    audit: async (entry) => (await opened.get()).policy.audit(entry),
    async problems(cwd) {
      const { rules, projectRules } = await opened.get();
      const sets = await Promise.all([projectRules(cwd), rules()]);
      return sets.flatMap(({ problems }) => problems);
    },
    close: async () => (await opened.opened())?.audit.close(),
  };
}
