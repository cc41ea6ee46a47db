#!/usr/bin/env node
// Phrases that a newcomer stumbles over stay out of comments, messages, test titles and documents. Each row says what to
// write instead. Dated decisions keep the words they were written in.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runGate } from "./gate.mjs";
import { listFiles } from "./workspace.mjs";

/** A space also matches a line break, with the marks that begin the next line of a comment. */
const phrase = (source) => new RegExp(source.replaceAll(" ", String.raw`(?: |\s*\n[\s*/>|]*)`), "gi");

const retired = [
  [phrase(String.raw`\bwho(?:so)?(?:ever)\b`), "name the actor: the caller, the client that waits"],
  [
    phrase(String.raw`\b(?:is|are|was|were|be|been|being) (?:not |never )?(?:told)\b`),
    "name who says it, or what happens",
  ],
  [phrase(String.raw`\bof (?:ours)\b`), "name what it belongs to: this project, this server"],
  [phrase(String.raw`\b(?:comes?|coming|came) to (?:life)\b`), "say what starts"],
  [phrase(String.raw`\b(?:right|sent|comes?|came|enters?|puts? (?:it|them)) (?:behind)\b`), 'write "after"'],
  [
    phrase(String.raw`\b(?:behind) (?:an? |the |every |each )?(?:\x60|words?\b|options?\b|numbers?\b)`),
    'write "after"',
  ],
  [
    phrase(
      String.raw`\b(?:questions?|permissions?|approvals?|requests?|restores?|undos?|prompts?)(?: (?:that|which|in|of|on|it|them|may|can|must))* (?:is|are|was|were|be|stays?|remains?) (?:still )?(?:open)\b`,
    ),
    'write "unanswered" or "unresolved"',
  ],
  [
    phrase(String.raw`\bopen (?:questions?|permissions?|approvals?|restores?|undos?)\b(?! of)`),
    'write "unanswered" or "unresolved"',
  ],
  [
    phrase(
      String.raw`(?<!there )\b(?:is|are) no (?!longer\b|more\b|different\b|other\b|less\b|fewer\b|better\b|worse\b|smaller\b)\w+`,
    ),
    'write "is not a ..."',
  ],
];

/** @returns {Promise<{ problems: string[], summary: string }>} */
export async function checkWords(root) {
  const files = listFiles(root, ".", [".ts", ".tsx", ".mjs", ".js", ".md", ".yml", ".yaml", ".html", ".css"]).filter(
    (path) => !path.startsWith("docs/decisions/"),
  );
  const problems = files.flatMap((path) => {
    const text = readFileSync(join(root, path), "utf8");
    return retired.flatMap(([pattern, advice]) =>
      [...text.matchAll(pattern)].map(({ 0: found, index }) => {
        const line = text.slice(0, index).split("\n").length;
        return `${path}:${line} says "${found.replace(/\s*\n[\s*/>|]*/, " ")}": ${advice}`;
      }),
    );
  });
  return { problems, summary: `${files.length} files without a retired phrase` };
}

await runGate(import.meta, checkWords);
