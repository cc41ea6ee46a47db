/** The key for all owners together. No person has an empty name. */
export const ALL = "";

/** Amounts of each owner, and of all owners together. */
export function createCounts() {
  const amounts = new Map<string, number>();
  return {
    of: (owner: string | undefined) => amounts.get(owner ?? ALL) ?? 0,
    add(owner: string | undefined, by: number) {
      for (const key of owner === undefined ? [ALL] : [ALL, owner]) {
        const amount = (amounts.get(key) ?? 0) + by;
        if (amount === 0) amounts.delete(key);
        else amounts.set(key, amount);
      }
    },
    clear: () => amounts.clear(),
  };
}
