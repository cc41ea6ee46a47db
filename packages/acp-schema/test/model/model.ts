/** A common form for JSON Schemas and valibot schemas, so that the two can be compared as data. */
export type Model =
  | { kind: "any" | "string" | "number" | "boolean" | "null"; note?: string }
  | { kind: "integer"; min?: number; max?: number }
  | { kind: "const"; value: unknown }
  | { kind: "array"; items: Model }
  | { kind: "record"; values: Model }
  | { kind: "object"; open: boolean; entries: Record<string, { required: boolean; model: Model }> }
  | { kind: "union"; options: Model[] };

/** A flat union in a fixed order, without duplicates, without integers beside `number` and without integer constants beside `integer`. */
export function union(options: Model[]): Model {
  const flat = options.flatMap((option) => (option.kind === "union" ? option.options : [option]));
  const has = (kind: Model["kind"]) => flat.some((option) => option.kind === kind);
  const kept = flat.filter((option) => {
    if (option.kind === "integer" && has("number")) return false;
    return !(option.kind === "const" && typeof option.value === "number" && has("integer"));
  });
  const byText = new Map(kept.map((option) => [canonical(option), option]));
  const sorted = [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, option]) => option);
  return sorted.length === 1 ? (sorted[0] as Model) : { kind: "union", options: sorted };
}

/** A text that is the same for equal models, whatever the order of their keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    inner && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** The differences of two models, as paths; empty if they are equal. */
export function differences(official: Model, ours: Model, path: string): string[] {
  if (canonical(official) === canonical(ours)) return [];
  if (official.kind === "object" && ours.kind === "object") {
    const names = new Set([...Object.keys(official.entries), ...Object.keys(ours.entries)]);
    const found = [...names].flatMap((name) => {
      const [theirs, mine] = [official.entries[name], ours.entries[name]];
      if (!theirs) return [`${path}.${name}: not in the official schema`];
      if (!mine) return [`${path}.${name}: missing`];
      const required = theirs.required === mine.required ? [] : [`${path}.${name}: required is ${mine.required}`];
      return [...required, ...differences(theirs.model, mine.model, `${path}.${name}`)];
    });
    return official.open === ours.open ? found : [...found, `${path}: open is ${ours.open}`];
  }
  if (official.kind === "array" && ours.kind === "array") return differences(official.items, ours.items, `${path}[]`);
  if (official.kind === "union" && ours.kind === "union") {
    const [theirs, mine] = [official, ours].map((one) => new Set(one.options.map(canonical))) as [
      Set<string>,
      Set<string>,
    ];
    return [
      ...[...theirs].filter((text) => !mine.has(text)).map((text) => `${path}: lacks ${text.slice(0, 200)}`),
      ...[...mine].filter((text) => !theirs.has(text)).map((text) => `${path}: has besides ${text.slice(0, 200)}`),
    ];
  }
  return [`${path}: official ${canonical(official).slice(0, 200)}, ours ${canonical(ours).slice(0, 200)}`];
}
