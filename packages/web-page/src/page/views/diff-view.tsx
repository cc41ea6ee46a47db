/** A change of a file, line by line. */
import { useState } from "preact/hooks";
import { countChanges, type DiffLine } from "../text/diff.js";

/** More are shown when asked for. */
const SHOWN_LINES = 400;
const MARKS = { add: "+", remove: "-", same: " ", skip: "" } as const;

export function DiffView({ path, lines }: { readonly path: string; readonly lines: readonly DiffLine[] }) {
  const [most, setMost] = useState(SHOWN_LINES);
  const { added, removed } = countChanges(lines);
  return (
    <figure class="diff">
      <figcaption>
        <span class="path">{path}</span>{" "}
        {lines.length > 0 ? <Count added={added} removed={removed} /> : <span class="state">no changed lines</span>}
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls can be reached by keyboard. */}
      <div class="wide" tabIndex={0}>
        <table aria-label={`Changes of ${path}`}>
          <tbody>
            {lines.slice(0, most).map((line, at) => (
              <tr class={line.type} key={at}>
                <td class="number">{line.before}</td>
                <td class="number">{line.after}</td>
                <td class="line">
                  <span class="mark">{MARKS[line.type]}</span>
                  {line.text}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {lines.length > most && (
        <button type="button" onClick={() => setMost(lines.length)}>
          Show {lines.length - most} more lines
        </button>
      )}
    </figure>
  );
}

export function Count({ added, removed }: { readonly added: number; readonly removed: number }) {
  return (
    <span class="count">
      <span class="plus">+{added}</span> <span class="minus">−{removed}</span>
    </span>
  );
}
