/** `@chimera/acp-schema/oracle`, for tests: checks frames against the official schema, by method and side, and refuses unknown keys. */
import { createRequire } from "node:module";
import type { Ajv2020, ValidateFunction } from "ajv/dist/2020.js";
import { parseJson } from "./define/lenient.js";

/** The side that wrote a frame. */
export type Sender = "agent" | "client";

/** The kind of a payload: the params of a request or notification, or the result of a response. */
export type Part = "request" | "response" | "notification";

export interface OracleOptions {
  /** Whether to use the unstable schema. @defaultValue false */
  readonly unstable?: boolean;
  /** Methods outside the specification that are accepted besides those that start with `_`. */
  readonly allow?: readonly string[];
}

export interface Oracle {
  /** The problems of one payload; none means that it is valid. `side` is the side that answers the method. */
  payload(method: string, side: string, part: Part, payload: unknown): string[];
  /** Starts a conversation, which remembers the request of each answer. */
  conversation(): Conversation;
}

export interface Conversation {
  /** The problems of the next frame, given as a line or a parsed value; none means that it is valid. */
  next(sender: Sender, frame: unknown): string[];
  /** The unanswered requests, as `sender method id`. */
  open(): string[];
}

/**
 * Makes an oracle. Needs `ajv`, and `@agentclientprotocol/sdk` for its schema file.
 *
 * @example
 * createOracle().payload("session/cancel", "agent", "notification", {}); // ["... sessionId ..."]
 */
export function createOracle({ unstable = false, allow = [] }: OracleOptions = {}): Oracle {
  // Both packages are only for tests, so they are loaded here and not when the module is imported.
  const require = createRequire(import.meta.url);
  const { Ajv2020 } = require("ajv/dist/2020.js") as typeof import("ajv/dist/2020.js");
  const file = unstable ? "schema.unstable.json" : "schema.json";
  const official = require(`@agentclientprotocol/sdk/schema/v1/${file}`) as OfficialSchema;
  const validator = createClosedSchema(Ajv2020, official);
  const definitions = definitionsByMethod(official);
  const passes = (method: string) => method.startsWith("_") || allow.includes(method);

  const validate = (definition: string, payload: unknown): string[] => {
    const check = validator(definition);
    if (check(payload)) return [];
    // Put the deepest errors first, because the errors of a union's other options say little.
    const errors = [...(check.errors ?? [])].sort((a, b) => b.instancePath.length - a.instancePath.length);
    const found = errors.map(({ instancePath, message, params }) => {
      const key = params["unevaluatedProperty"];
      return `${definition}${instancePath} ${message}${key === undefined ? "" : ` (${key})`}`;
    });
    return [...new Set(found)].slice(0, 4);
  };

  const payload: Oracle["payload"] = (method, side, part, value) => {
    if (passes(method)) return [];
    const definition = definitions.get(`${side} ${method} ${part}`) ?? definitions.get(`protocol ${method} ${part}`);
    if (!definition) return [`${side} has no ${part} ${method}`];
    // Absent or null params mean an empty object.
    return validate(definition, part === "response" ? value : (value ?? {}));
  };

  return { payload, conversation: () => createConversation(payload, (error) => validate("Error", error)) };
}

// --- internal ---

function createConversation(payload: Oracle["payload"], judgeError: (error: unknown) => string[]): Conversation {
  const asked = new Map<string, string>();
  const other = (sender: Sender): Sender => (sender === "agent" ? "client" : "agent");
  const key = (sender: Sender, id: unknown) => `${sender} ${JSON.stringify(id)}`;

  const judgeCall = (sender: Sender, frame: Record<string, unknown>): string[] => {
    const method = String(frame["method"]);
    const problems = unknownKeys(frame, ["jsonrpc", "id", "method", "params"]);
    if (!("id" in frame)) return [...problems, ...payload(method, other(sender), "notification", frame["params"])];
    if (!isId(frame["id"])) problems.push("id is not a string, an integer or null");
    if (asked.has(key(sender, frame["id"]))) problems.push(`id ${JSON.stringify(frame["id"])} is in use`);
    asked.set(key(sender, frame["id"]), method);
    return [...problems, ...payload(method, other(sender), "request", frame["params"])];
  };

  const judgeAnswer = (sender: Sender, frame: Record<string, unknown>): string[] => {
    const problems = unknownKeys(frame, ["jsonrpc", "id", "result", "error"]);
    if ("result" in frame === "error" in frame) return [...problems, "an answer has a result or an error"];
    const asker = key(other(sender), frame["id"]);
    const method = asked.get(asker);
    asked.delete(asker);
    if ("error" in frame) {
      // The error for an unreadable message has no id of a request.
      if (method === undefined && frame["id"] !== null)
        problems.push(`no request has the id ${JSON.stringify(frame["id"])}`);
      return [...problems, ...judgeError(frame["error"])];
    }
    if (method === undefined) return [...problems, `no request has the id ${JSON.stringify(frame["id"])}`];
    return [...problems, ...payload(method, sender, "response", frame["result"])];
  };

  return {
    next(sender, input) {
      const frame = typeof input === "string" ? parseJson(input) : input;
      if (typeof frame !== "object" || frame === null || Array.isArray(frame)) return ["a frame is one JSON object"];
      const fields = frame as Record<string, unknown>;
      const problems = fields["jsonrpc"] === "2.0" ? [] : ['jsonrpc is not "2.0"'];
      return [...problems, ...("method" in fields ? judgeCall(sender, fields) : judgeAnswer(sender, fields))];
    },
    open: () => [...asked].map(([asker, method]) => asker.replace(" ", ` ${method} `)),
  };
}

const isId = (id: unknown) => id === null || typeof id === "string" || Number.isInteger(id);

function unknownKeys(frame: object, known: readonly string[]): string[] {
  return Object.keys(frame)
    .filter((name) => !known.includes(name))
    .map((name) => `a frame must not have the key ${name}`);
}

function definitionsByMethod({ $defs }: OfficialSchema): Map<string, string> {
  const rows = Object.entries($defs).flatMap(([name, definition]) => {
    const part = /(Request|Response|Notification)$/.exec(name)?.[0].toLowerCase();
    const { "x-method": method, "x-side": side } = definition;
    return method && part ? [[`${side} ${method} ${part}`, name] as const] : [];
  });
  return new Map(rows);
}

/** The parts of a JSON Schema that this file reads. */
interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly allOf?: readonly JsonSchema[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly [keyword: string]: unknown;
}

interface OfficialSchema {
  readonly $defs: Readonly<Record<string, JsonSchema>>;
}

/**
 * Makes a validator for each definition of the official schema, compiled on first use. The schema is closed first, because the published
 * one accepts custom keys at the root of every type, which the protocol forbids.
 */
function createClosedSchema(Ajv: typeof Ajv2020, { $defs }: OfficialSchema): (definition: string) => ValidateFunction {
  const ajv = new Ajv({ strict: false, formats });
  ajv.addSchema({
    $id: "acp",
    $defs: Object.fromEntries(Object.entries($defs).map(([name, one]) => [name, inside(one)])),
  });
  const validators = new Map<string, ValidateFunction>();
  return (definition) => {
    let validate = validators.get(definition);
    if (!validate) {
      validate = ajv.compile(site({ $ref: `acp#/$defs/${definition}` }));
      validators.set(definition, validate);
    }
    return validate;
  };

  /** Closes the schema of a value: no key may be left over. */
  function site(schema: JsonSchema): JsonSchema {
    const closed = inside(schema);
    return namesKeys(schema) ? { ...closed, unevaluatedProperties: false } : closed;
  }

  /** Closes only the values below a schema, because the schema describes its value together with others. */
  function inside(schema: JsonSchema): JsonSchema {
    const { properties, items, additionalProperties, allOf, anyOf, oneOf, ...rest } = schema;
    return {
      ...rest,
      ...(properties && {
        properties: Object.fromEntries(Object.entries(properties).map(([key, one]) => [key, site(one)])),
      }),
      ...(items && { items: site(items) }),
      ...(additionalProperties !== undefined && {
        additionalProperties:
          typeof additionalProperties === "object" ? site(additionalProperties) : additionalProperties,
      }),
      ...(allOf && { allOf: allOf.map(inside) }),
      ...(anyOf && { anyOf: anyOf.map(inside) }),
      ...(oneOf && { oneOf: oneOf.map(inside) }),
    } as JsonSchema;
  }

  /** Whether the schema names keys. Free-form values and open maps do not, and must stay open. */
  function namesKeys(schema: JsonSchema): boolean {
    if (schema.$ref) return namesKeys($defs[schema.$ref.replace(/^.*\$defs\//, "")] ?? {});
    const parts = [...(schema.allOf ?? []), ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
    return schema.properties !== undefined || parts.some(namesKeys);
  }
}

const within = (min: number, max: number) => ({
  type: "number" as const,
  validate: (value: number) => value >= min && value <= max,
});

/** The formats of the schema for ajv. `JSON.parse` has already rounded 64-bit integers. */
export const formats = {
  uint16: within(0, 0xffff),
  uint32: within(0, 0xffff_ffff),
  uint64: within(0, Number.POSITIVE_INFINITY),
  int32: within(-(2 ** 31), 2 ** 31 - 1),
  int64: within(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
  double: within(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
  uri: (value: string) => URL.canParse(value),
};
