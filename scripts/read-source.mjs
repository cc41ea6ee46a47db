// What a source file imports, says and how long its functions are, by the parser and not by pattern: types, re-exports and import() included.
import { parseSync } from "oxc-parser";

/**
 * @param {string} path decides the language by its ending
 * @param {string} text
 * @returns {{ imports: { specifier: string, line: number }[], processUses: { member: string, line: number }[] }}
 */
export function readImports(path, text) {
  const imports = [];
  const processUses = [];
  walk(parse(path, text), (node) => {
    const specifier = specifierOf(node);
    if (specifier !== undefined) imports.push({ specifier, line: lineAt(text, node.start) });
    if (node.type === "MemberExpression" && node.object.type === "Identifier" && node.object.name === "process") {
      processUses.push({ member: node.property.name ?? node.property.value, line: lineAt(text, node.start) });
    }
  });
  return { imports, processUses };
}

/** @returns {{ name: string, line: number, lines: number }[]} every function that has a body, by the name it is declared or assigned with */
export function readFunctions(path, text) {
  const functions = [];
  const names = new Map();
  walk(parse(path, text), (node) => {
    const value = node.init ?? node.value;
    const key = node.id ?? node.key;
    if (value && key?.name) names.set(value, key.name);
    if (!FUNCTIONS.has(node.type) || !node.body) return;
    const name = node.id?.name ?? names.get(node) ?? "(anonymous)";
    functions.push({
      name,
      line: lineAt(text, node.start),
      lines: lineAt(text.slice(node.start, node.end), Number.POSITIVE_INFINITY),
    });
  });
  return functions;
}

/** How many lines of a file are neither blank nor only a comment. */
export function countCode(text) {
  return text.split("\n").filter((line) => !/^\s*($|\/\/|\/?\*)/.test(line)).length;
}

/** Every string and piece of template in a file, comments left out. */
export function readStrings(path, text) {
  const strings = [];
  walk(parse(path, text), (node) => {
    if (node.type === "Literal" && typeof node.value === "string") strings.push(node.value);
    if (node.type === "TemplateElement") strings.push(node.value.cooked ?? node.value.raw);
  });
  return strings;
}

/** @returns the tree of a file, and the text of the JSDoc comment right before a node of it, or null */
export function readSyntax(path, text) {
  const { program, comments } = parseWhole(path, text);
  const byEnd = new Map(comments.filter(({ value }) => value.startsWith("*")).map(({ end, value }) => [end, value]));
  return { program, commentBefore: ({ start }) => byEnd.get(text.slice(0, start).trimEnd().length) ?? null };
}

// --- internal ---

const FUNCTIONS = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"]);

function parse(path, text) {
  return parseWhole(path, text).program;
}

function parseWhole(path, text) {
  const { program, comments, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path} does not parse: ${errors[0].message}`);
  return { program, comments };
}

function specifierOf(node) {
  switch (node.type) {
    case "ImportDeclaration":
    case "ExportAllDeclaration":
    case "ExportNamedDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return literal(node.source ?? node.argument);
    default:
      return undefined;
  }
}

function literal(node) {
  return typeof node?.value === "string" ? node.value : undefined;
}

function walk(node, visit) {
  if (typeof node.type === "string") visit(node);
  for (const child of Object.values(node)) {
    if (Array.isArray(child)) for (const item of child) item && typeof item === "object" && walk(item, visit);
    else if (child && typeof child === "object") walk(child, visit);
  }
}

function lineAt(text, offset) {
  return text.slice(0, offset).split("\n").length;
}
