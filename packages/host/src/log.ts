/** Structured log on stderr, one JSON object a line, or plain words when a person watches. stdout is never touched. */
export const LOG_LEVELS = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export type Log = Record<Exclude<LogLevel, "silent">, (message: string, fields?: Record<string, unknown>) => void>;

export function createLog(options: {
  readonly level: LogLevel;
  readonly pretty: boolean;
  readonly write: (line: string) => void;
  readonly clock?: () => number;
}): Log {
  const threshold = LOG_LEVELS.indexOf(options.level);
  const clock = options.clock ?? Date.now;
  const at =
    (level: keyof Log) =>
    (message: string, fields: Record<string, unknown> = {}) => {
      if (LOG_LEVELS.indexOf(level) < threshold) return;
      if (options.pretty) {
        const details = Object.entries(fields).map(([key, value]) => ` ${key}=${String(value)}`);
        options.write(`[${level}] ${message}${details.join("")}\n`);
      } else {
        options.write(`${JSON.stringify({ ts: new Date(clock()).toISOString(), level, message, ...fields })}\n`);
      }
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
