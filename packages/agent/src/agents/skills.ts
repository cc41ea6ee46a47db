/**
 * Skills: folders with a SKILL.md that says how to do something. The model sees their names and descriptions, and reads one when a
 * task needs it. A project's skills are used only when the person trusts the directory.
 */
import { readdir } from "node:fs/promises";
import { join, sep } from "node:path";
import { parseFrontMatter } from "@chimera/acp-schema/front-matter";
import { startOf } from "@chimera/acp-schema/text";
import * as v from "valibot";
import { AgentError } from "../errors.js";
import { type Loaded, type Places, readTextBeneath } from "../files/project-file.js";
import type { Tool } from "../tool.js";
import { capOutput, defineTool, describeCall } from "../tools/define.js";

export interface Skill {
  readonly name: string;
  readonly description: string;
  /** A link in the skill must not lead out of this directory. */
  readonly root: string;
  /** Its folder, relative to the root. */
  readonly folder: string;
}

export interface LoadedSkills extends Loaded {
  readonly skills: readonly Skill[];
}

/** A project's skill wins over the person's skill with the same name. */
export async function loadSkills({ home, cwd, trusted }: Places): Promise<LoadedSkills> {
  const [own, project] = await Promise.all([skillsBelow(home), skillsBelow(cwd)]);
  const problems = [...own.problems, ...(trusted ? project.problems : [])];
  const skills = new Map([...own.skills, ...(trusted ? project.skills : [])].map((skill) => [skill.name, skill]));
  const untrusted = trusted
    ? []
    : project.skills.map(({ name, root, folder }) => `the skill ${name} of ${join(root, folder)}`);
  return { skills: [...skills.values()].slice(0, MOST_SKILLS), problems, untrusted };
}

/** The directories below a home or a project that hold skills. */
export function skillFolders(root: string): string[] {
  return FOLDERS.map((folder) => root + sep + folder);
}

/** The list in the system prompt: names and descriptions. Empty without skills. */
export function skillList(skills: readonly Skill[]): string {
  const lines = skills.map(({ name, description }) => `- ${name}: ${startOf(description, LONGEST_DESCRIPTION)}`);
  return startOf(lines.join("\n"), LONGEST_LIST);
}

export function createSkillTool(skills: readonly Skill[]): Tool {
  return defineTool({
    name: "skill",
    description: "Read how a skill of the list is done, before you do it; or another file of its folder.",
    input: v.object({
      name: v.pipe(v.string(), v.description("The skill.")),
      file: v.optional(v.pipe(v.string(), v.description("A file in its folder. Without it: SKILL.md."))),
    }),
    kind: "read",
    parallel: true,
    describe: ({ name }) => describeCall(`Skill ${name}`),
    run: async ({ name, file = FILE }, context) => {
      const skill = skills.find((each) => each.name.toLowerCase() === name.trim().toLowerCase());
      if (!skill)
        throw new AgentError(
          "unknown_skill",
          `No skill is called ${JSON.stringify(startOf(name, 80))}. Known skills: ${skills.map((each) => each.name).join(", ")}.`,
        );
      const text = await readTextBeneath(join(skill.root, skill.folder), file);
      const files = await filesOf(skill);
      if (text === null)
        throw new AgentError(
          "unknown_skill",
          `${skill.name} has no text file ${JSON.stringify(startOf(file, 200))}. It has: ${files.join(", ")}.`,
        );
      const body = file === FILE ? (await parseFrontMatter(text)).body.trim() : text;
      const others = files.filter((each) => each !== FILE);
      const more =
        file === FILE && others.length > 0
          ? `\n\n[Other files of this skill, in ${join(skill.root, skill.folder)}: ${others.join(", ")}]`
          : "";
      return { success: true, output: await capOutput(body + more, context) };
    },
  }) as Tool;
}

// --- internal ---

const FILE = "SKILL.md";
const MOST_SKILLS = 100;
const LONGEST_DESCRIPTION = 300;
const LONGEST_LIST = 8 * 1024;
const MOST_FILES = 200;

/** Later folders win, so another program's skills are used only when no other skill has the same name. */
const FOLDERS = [
  join(".claude", "skills"),
  join(".opencode", "skill"),
  join(".opencode", "skills"),
  join(".chimera", "skills"),
];

async function skillsBelow(root: string): Promise<{ skills: Skill[]; problems: string[] }> {
  const problems: string[] = [];
  const found = new Map<string, Skill>();
  for (const place of FOLDERS) {
    for (const entry of await namesIn(join(root, place))) {
      const folder = join(place, entry);
      const text = await readTextBeneath(root, join(folder, FILE));
      if (text === null) continue;
      const { head, problem } = await parseFrontMatter(text);
      const name = typeof head["name"] === "string" && NAME.test(head["name"]) ? head["name"] : entry;
      const description =
        typeof head["description"] === "string" ? head["description"].replace(/\s+/g, " ").trim() : "";
      if (problem !== null) problems.push(`${join(root, folder, FILE)}: its head was not read: ${problem}`);
      else if (description === "" || !NAME.test(name))
        problems.push(`${join(root, folder, FILE)}: it needs a name and a description`);
      else found.set(name, { name, description, root, folder });
    }
  }
  return { skills: [...found.values()], problems };
}

const NAME = /^[\w.-]{1,64}$/;

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((name) => !name.startsWith("."))
    .sort()
    .slice(0, MOST_SKILLS);
}

async function filesOf({ root, folder }: Skill): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(() => []);
  const base = join(root, folder);
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(base.length + 1))
    .sort()
    .slice(0, MOST_FILES);
}
