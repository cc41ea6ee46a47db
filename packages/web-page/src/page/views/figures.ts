/** Numbers and times as people read them. */

export function dollars(amount: number): string {
  return amount === 0 || amount >= 0.995 ? `$${amount.toFixed(2)}` : `$${amount.toPrecision(2)}`;
}

export function tokens(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${Math.round(count / 1000)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}

const STEPS = [
  [60, "minute", 60],
  [24, "hour", 3600],
  [30, "day", 86_400],
] as const;

/** `5 minutes ago`; a date when it is long ago. */
export function ago(seconds: number | null): string {
  if (seconds === null) return "";
  const past = Date.now() / 1000 - seconds;
  if (past < 60) return "just now";
  for (const [most, unit, size] of STEPS) {
    const count = Math.floor(past / size);
    if (count < most) return `${count} ${unit}${count === 1 ? "" : "s"} ago`;
  }
  return new Date(seconds * 1000).toLocaleDateString();
}
