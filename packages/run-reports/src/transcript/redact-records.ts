import type { RecordOf, SessionRecord } from "@chimera/acp-schema/events";
import type { GiveWay } from "./pace.js";
import { cutRanges, OVERLAP, type Redactor, WINDOW } from "./secrets.js";

/** Removes secrets from records. A secret may span several pieces of text, so pieces are searched as one text, 64 Ki at a time. */
export async function* redactRecords(
  records: AsyncIterable<SessionRecord>,
  redactor: Redactor,
  giveWay: GiveWay,
): AsyncGenerator<SessionRecord> {
  let held: Piece[] = [];
  let size = 0;
  for await (const record of records) {
    if (isPiece(record)) {
      held.push(record);
      size += pieceText(record).length;
      if (size < WINDOW) continue;
      const { clean, cuts } = redactPieces(held, redactor);
      const rest = restStart(held, cuts);
      yield* clean.slice(0, rest);
      held = held.slice(rest);
      size = held.reduce((total, piece) => total + pieceText(piece).length, 0);
      await giveWay();
      continue;
    }
    yield* redactPieces(held, redactor).clean;
    held = [];
    size = 0;
    yield (await redactor.largeValue(record, giveWay)) as SessionRecord;
    await giveWay();
  }
  yield* redactPieces(held, redactor).clean;
}

// --- internal ---

type Piece = RecordOf<"text_delta" | "thought_delta" | "tool_progress">;

function isPiece(record: SessionRecord): record is Piece {
  switch (record.type) {
    case "text_delta":
    case "thought_delta":
      return typeof record.metadata?.text === "string";
    case "tool_progress":
      return typeof record.metadata?.chunk === "string";
    default:
      return false;
  }
}

function pieceText(piece: Piece): string {
  return piece.type === "tool_progress" ? piece.metadata.chunk : piece.metadata.text;
}

function withText(piece: Piece, text: string): Piece {
  return piece.type === "tool_progress"
    ? { ...piece, metadata: { ...piece.metadata, chunk: text } }
    : { ...piece, metadata: { ...piece.metadata, text } };
}

/** Pieces of the same text have the same key. Pieces of several texts may be interleaved. */
function keyOf(piece: Piece): string {
  return piece.type === "tool_progress" ? `${piece.metadata.call_id} ${piece.metadata.stream}` : piece.type;
}

/** The first and the last piece of a secret. */
type Cut = readonly [first: number, last: number];

function redactPieces(pieces: readonly Piece[], redactor: Redactor): { clean: Piece[]; cuts: Cut[] } {
  const clean = [...pieces];
  const cuts: Cut[] = [];
  for (const group of groupIndexes(pieces)) {
    const ranges = redactor.find(group.map((index) => pieceText(pieces[index]!)).join(""));
    if (ranges.length === 0) continue;
    let offset = 0;
    const holders = ranges.map((): number[] => []);
    for (const index of group) {
      const text = pieceText(pieces[index]!);
      ranges.forEach(([start, end], range) => {
        if (start < offset + text.length && end > offset) holders[range]!.push(index);
      });
      clean[index] = withText(pieces[index]!, cutRanges(text, offset, ranges));
      offset += text.length;
    }
    for (const holder of holders) if (holder.length > 0) cuts.push([holder[0]!, holder.at(-1)!]);
  }
  return { clean, cuts };
}

function groupIndexes(pieces: readonly Piece[]): Iterable<number[]> {
  const groups = new Map<string, number[]>();
  pieces.forEach((piece, index) => {
    const key = keyOf(piece);
    const group = groups.get(key);
    if (group) group.push(index);
    else groups.set(key, [index]);
  });
  return groups.values();
}

/** Index at which to split the held pieces: never inside a secret, because its second half would not be recognised. */
function restStart(pieces: readonly Piece[], cuts: readonly Cut[]): number {
  let index = pieces.length;
  for (let size = 0; index > 0 && size < OVERLAP; index--) size += pieceText(pieces[index - 1]!).length;
  for (;;) {
    const crossing = cuts.filter(([first, last]) => first < index && last >= index);
    if (crossing.length === 0) break;
    index = Math.min(...crossing.map(([first]) => first));
  }
  return index === 0 ? pieces.length : index;
}
