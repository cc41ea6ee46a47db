/**
 * A dialect is data: what it answers to `initialize`, its method rows, and how it tells of errors. The connection chooses
 * one and then knows no more about it.
 */
import type { MapError, Methods } from "@chimera/ndjson-rpc";
import type { ConnectionContext } from "./context.js";
import type { Extension } from "./extension.js";

export interface DialectContext extends ConnectionContext {
  readonly extensions: readonly Extension[];
}

export interface OpenedDialect {
  /** The result of `initialize`. */
  readonly welcome: object;
  readonly methods: Methods;
  readonly mapError: MapError;
}

export interface Dialect {
  readonly name: string;
  /** Method names of this dialect, to hint at it when another is spoken. */
  readonly methodNames: readonly string[];
  open(context: DialectContext, params: Record<string, unknown>, revision2: boolean): OpenedDialect;
}
