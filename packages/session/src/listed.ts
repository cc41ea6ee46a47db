/** Sessions that are listed, however many stand between them that are not. */
import type { ListedSummary, Sessions } from "./sessions.js";

const PAGE = 200;

export interface ListedOptions {
  /** At most so many. @defaultValue all */
  readonly most?: number | null;
  /** Epoch milliseconds: none that was made before. */
  readonly since?: number | null;
  readonly passes?: (row: ListedSummary) => boolean;
}

/** The newest touched that pass; pages are read as far as that takes. */
export async function listedSessions(
  sessions: Pick<Sessions, "list">,
  { most = null, since = null, passes = () => true }: ListedOptions = {},
): Promise<ListedSummary[]> {
  const found: ListedSummary[] = [];
  let after: string | null = null;
  do {
    const page: Awaited<ReturnType<Sessions["list"]>> = await sessions.list({
      limit: PAGE,
      ...(since !== null && { since }),
      ...(after !== null && { after }),
    });
    found.push(...page.sessions.filter(passes));
    after = page.next;
  } while (after !== null && (most === null || found.length < most));
  return most === null ? found : found.slice(0, most);
}
