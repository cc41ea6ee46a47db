/** Which dialect a connection speaks, from its first `initialize`. Native rows take only what ACP refuses. */
export type DialectName = "acp" | "otter" | "ferret";

export type DialectChoice =
  | { readonly ok: true; readonly dialect: DialectName; readonly revision2: boolean }
  | { readonly ok: false; readonly message: string; readonly data?: unknown };

export interface ChoiceContext {
  /** `--acp-dialect`. */
  readonly forced: DialectName | null;
  /** The native dialect of this program. */
  readonly native: Exclude<DialectName, "acp">;
  readonly nativeVersion: string;
}

const NAMES: readonly DialectName[] = ["acp", "otter", "ferret"];
const ACP_FIELDS = ["info", "capabilities", "clientInfo", "clientCapabilities"];

export function chooseDialect(params: unknown, context: ChoiceContext): DialectChoice {
  const asked = params ?? {};
  const isObject = typeof asked === "object" && !Array.isArray(asked);
  const fields = isObject ? (asked as Record<string, unknown>) : {};
  const version = fields["protocolVersion"] ?? null;
  const bare2 = version === 2 && ACP_FIELDS.every((name) => fields[name] === undefined);
  if (context.forced) return chosen(context.forced, context.forced !== "acp" && bare2);
  if (!isObject) return refused("params must be an object");
  const named = (fields["_meta"] as Record<string, unknown> | null | undefined)?.["chimera.dev/dialect"];
  if (named !== undefined) {
    const dialect = NAMES.find((name) => name === named);
    return dialect
      ? chosen(dialect, dialect !== "acp" && version === 2)
      : refused(`unknown dialect ${JSON.stringify(named)}`, { dialects: NAMES });
  }
  if (isUint16(version)) return bare2 ? chosen(context.native, true) : chosen("acp", false);
  if (typeof version === "string" && /^0\.\d{1,4}(\.\d{1,4})?$/.test(version)) return chosen(context.native, false);
  if (version === null) {
    return fields["clientCapabilities"] !== undefined || fields["info"] !== undefined
      ? refused("protocolVersion is missing", supported(context))
      : chosen(context.native, false);
  }
  return refused(`unsupported protocolVersion ${JSON.stringify(version)?.slice(0, 80)}`, supported(context));
}

// --- internal ---

function chosen(dialect: DialectName, revision2: boolean): DialectChoice {
  return { ok: true, dialect, revision2 };
}

function refused(message: string, data?: unknown): DialectChoice {
  return { ok: false, message, data };
}

function supported(context: ChoiceContext) {
  return { supported: [1], dialects: [context.nativeVersion] };
}

function isUint16(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 65535;
}
