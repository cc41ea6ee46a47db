/** Decides which dialect a connection speaks. A native dialect is chosen only for an `initialize` that standard ACP would refuse. */
export type DialectChoice =
  | { readonly ok: true; readonly dialect: string; readonly revision2: boolean }
  | { readonly ok: false; readonly message: string; readonly data?: unknown };

export interface ChoiceContext {
  /** The value of `--acp-dialect`; null without it. */
  readonly forced: string | null;
  /** The names of all dialects this server has. */
  readonly names: readonly string[];
  /** The program's own dialect and its version; null for a program that speaks only standard ACP. */
  readonly native: { readonly name: string; readonly version: string } | null;
}

/** The name of standard ACP among the dialects. */
export const STANDARD = "acp";
const ACP_FIELDS = ["info", "capabilities", "clientInfo", "clientCapabilities"];

/**
 * Chooses the dialect of a connection from the params of its `initialize`.
 *
 * @example
 * const native = { name: "otter", version: "0.1" };
 * chooseDialect({ protocolVersion: 1 }, { forced: null, names: ["acp", "otter"], native });
 */
export function chooseDialect(params: unknown, context: ChoiceContext): DialectChoice {
  const asked = params ?? {};
  const isObject = typeof asked === "object" && !Array.isArray(asked);
  const fields = isObject ? (asked as Record<string, unknown>) : {};
  const version = fields["protocolVersion"] ?? null;
  const bare2 = version === 2 && ACP_FIELDS.every((name) => fields[name] === undefined);
  if (context.forced) return chosen(context.forced, context.forced !== STANDARD && bare2);
  if (!isObject) return refused("params must be an object");
  const named = (fields["_meta"] as Record<string, unknown> | null | undefined)?.["chimera.dev/dialect"];
  if (named !== undefined) {
    const dialect = context.names.find((name) => name === named);
    return dialect
      ? chosen(dialect, dialect !== STANDARD && version === 2)
      : refused(`unknown dialect ${JSON.stringify(named)}`, { dialects: context.names });
  }
  const native = context.native?.name;
  if (isUint16(version)) return bare2 && native ? chosen(native, true) : chosen(STANDARD, false);
  if (native && typeof version === "string" && /^0\.\d{1,4}(\.\d{1,4})?$/.test(version)) return chosen(native, false);
  if (version === null && native) {
    return fields["clientCapabilities"] !== undefined || fields["info"] !== undefined
      ? refused("protocolVersion is missing", supported(context))
      : chosen(native, false);
  }
  if (version === null) return refused("protocolVersion is missing", supported(context));
  return refused(`unsupported protocolVersion ${JSON.stringify(version)?.slice(0, 80)}`, supported(context));
}

// --- internal ---

function chosen(dialect: string, revision2: boolean): DialectChoice {
  return { ok: true, dialect, revision2 };
}

function refused(message: string, data?: unknown): DialectChoice {
  return { ok: false, message, data };
}

function supported({ native }: ChoiceContext) {
  return { supported: [1], dialects: native ? [native.version] : [] };
}

function isUint16(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65535;
}
