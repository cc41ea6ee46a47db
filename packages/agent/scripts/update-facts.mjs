// Writes src/providers/facts.json from a list of models in the shape of https://models.dev/api.json, so that a new model or
// another price is a reviewed diff, and the published package asks nobody for it.
//
//   node scripts/update-facts.mjs [URL or file] [date]
import { readFile, writeFile } from "node:fs/promises";

const [source = "https://models.dev/api.json", date = new Date().toISOString().slice(0, 10)] = process.argv.slice(2);
const target = new URL("../src/providers/facts.json", import.meta.url);

/** The lists that rows of `table.ts` name. */
const LISTS = ["anthropic", "openai", "google", "xai", "deepseek", "openrouter"];

/** How models that think are asked to, from which version on: the list says only that they do. The first row that fits. */
const THINKING = [
  { list: "anthropic", from: 4.06, flag: "a" },
  { list: "anthropic", from: 0, flag: "b" },
  { list: "google", from: 3, flag: "l" },
  { list: "google", from: 0, flag: "b" },
  { from: 0, flag: "e" },
];

/** Models that OpenAI serves with tools at `/responses` only, or best there: those that think. */
const onResponses = (list, { reasoning }) => list === "openai" && reasoning;

/** The end of a name that says when a model was made; `facts.ts` has the same. */
const SNAPSHOT = /(?:-preview)?[-@](?:\d{8}|\d{4}-\d\d-\d\d|\d\d-\d\d(?:\d\d)?|\d{3,4}|latest)$/;
/** What no agent works with. */
const ODD = /^~|[:-]batch$|embed|deep-research|robotics|computer-use|customtools|-(?:tts|live|image|audio|realtime)\b/;

const given = /^https?:/.test(source) ? await (await fetch(source)).json() : JSON.parse(await readFile(source, "utf8"));

/** 4.5 is 4.05, so that 4.10 comes after it. */
function versionOf(name, without) {
  const [, major, minor = "0"] = /(?<![\d.])(\d{1,2})(?:[-.](\d{1,2}))?(?![\d])/.exec(name.replace(SNAPSHOT, "")) ?? [];
  return major === undefined ? without : Number(major) + Number(minor) / 100;
}

function rowOf(list, name, model) {
  const { limit = {}, modalities = {}, cost, reasoning } = model;
  const version = versionOf(name, Number.POSITIVE_INFINITY);
  const form = reasoning ? THINKING.find((row) => (row.list ?? list) === list && version >= row.from).flag : "";
  const flags = [modalities.input?.includes("image") && "v", form, onResponses(list, model) && "r"];
  // A limit of about the whole window is none, and a router's price of nothing is unknown.
  const output = limit.output > 0 && limit.output < limit.context * 0.75 ? limit.output : "";
  const priced = cost && (cost.input > 0 || cost.output > 0 || name.endsWith(":free"));
  const { input, output: out, cache_read = input, cache_write = input } = cost ?? {};
  const price = priced ? [input, out, cache_read, cache_write].map((dollars) => +dollars.toFixed(4)) : [];
  return [limit.input || limit.context || "", output, flags.filter(Boolean).join("") || "-", ...price].join(" ");
}

function rowsOf(list) {
  const models = Object.entries(given[list]?.models ?? {}).filter(
    ([name, model]) => model.tool_call && !ODD.test(name),
  );
  const rows = new Map(models.map(([name, model]) => [name.toLowerCase(), rowOf(list, name, model)]));
  // A snapshot is a row of its own only where it differs from the name without its date.
  for (const [name, row] of [...rows].sort().reverse()) {
    const plain = name.replace(SNAPSHOT, "");
    if (plain === name) continue;
    if (!rows.has(plain)) rows.set(plain, row);
    if (rows.get(plain) === row) rows.delete(name);
  }
  const newestFirst = ([a], [b]) => versionOf(b, 0) - versionOf(a, 0) || (a < b ? -1 : 1);
  return [...rows].sort(newestFirst).map(([name, row]) => `${name} ${row}`);
}

const lists = LISTS.map((list) => [list, rowsOf(list)]);
await writeFile(target, `${JSON.stringify({ date, lists: Object.fromEntries(lists) }, null, 2)}\n`);
process.stdout.write(`${lists.map(([list, rows]) => `${list} ${rows.length}`).join(", ")}\n`);
