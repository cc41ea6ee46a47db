/** Waits for a condition that another process or socket brings about. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error("waited too long");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
