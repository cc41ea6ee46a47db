import { vi } from "vitest";

/** Waits for a condition that another process or socket brings about. */
export async function until(condition: () => boolean): Promise<void> {
  await vi.waitUntil(condition, { interval: 2, timeout: 20_000 });
}
