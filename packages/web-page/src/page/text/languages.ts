/** Colours for code: a chunk of its own, loaded when the first block of code is seen. */
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const languages = { bash, css, go, java, javascript, json, python, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);

/** The code as nodes, made from the highlighter's tree; null where its language is not known. */
export function highlight(code: string, language: string): Node[] | null {
  if (!hljs.getLanguage(language)) return null;
  const { _emitter } = hljs.highlight(code, { language, ignoreIllegals: true }) as unknown as { _emitter: Emitter };
  return _emitter.rootNode.children.map(nodeOf);
}

// --- internal ---

/** What the highlighter's own renderer reads. */
interface Emitter {
  readonly rootNode: Scope;
}

interface Scope {
  readonly scope?: string;
  readonly language?: string;
  readonly children: readonly (Scope | string)[];
}

function nodeOf(part: Scope | string): Node {
  if (typeof part === "string") return document.createTextNode(part);
  const span = document.createElement("span");
  if (part.scope) span.className = `hl-${part.scope.split(".")[0]}`;
  span.append(...part.children.map(nodeOf));
  return span;
}
