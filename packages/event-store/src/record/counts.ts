/** Records of each type so far. Without a prototype, since a type may have any name. */
export type Counts = Record<string, number>;

export function createCounts(from: Readonly<Counts> = {}): Counts {
  return Object.assign(Object.create(null) as Counts, from);
}

export function addCounts(counts: Counts, more: Readonly<Counts> = {}): void {
  for (const [type, count] of Object.entries(more)) counts[type] = (counts[type] ?? 0) + count;
}

export function countType(counts: Counts, type: string): void {
  counts[type] = (counts[type] ?? 0) + 1;
}
