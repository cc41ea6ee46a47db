/** Stands for all owners together: no person has an empty name. */
export const ALL = "";

/** Amounts by owner, and of all together. */
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
