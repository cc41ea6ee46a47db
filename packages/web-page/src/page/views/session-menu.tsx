/** The actions on a session besides prompts: name it, fork it, save its transcript, delete it. */
import { useEffect, useRef } from "preact/hooks";
import { attempt, client } from "../server/client.js";
import { go } from "./route.js";

const FORMATS = [
  ["html", "HTML", "text/html"],
  ["md", "Markdown", "text/markdown"],
  ["json", "JSON", "application/json"],
] as const;

type Format = (typeof FORMATS)[number];

/** A menu that closes by Escape, by a press elsewhere, and by `close`. */
function useMenu() {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (menu.current) menu.current.open = false;
  };
  useEffect(() => {
    const pressed = ({ target }: Event) => {
      if (!menu.current?.contains(target as Node)) close();
    };
    document.addEventListener("pointerdown", pressed);
    return () => document.removeEventListener("pointerdown", pressed);
  }, []);
  const onKeyDown = ({ key }: KeyboardEvent) => {
    if (key !== "Escape") return;
    close();
    menu.current?.querySelector("summary")?.focus();
  };
  return { close, attributes: { ref: menu, onKeyDown } };
}

/** Has the browser save the transcript of session `id`; a link to it would not send the token. */
async function saveTranscript(id: string, [format, , type]: Format) {
  const text = await attempt(() => client.sessions.open(id).transcript(format));
  if (text === null) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = `${id}.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function SessionMenu({
  id,
  title,
  rename,
}: {
  readonly id: string;
  readonly title: string;
  readonly rename: (title: string) => void;
}) {
  const { close, attributes } = useMenu();
  const session = client.sessions.open(id);
  const save = (format: Format) => {
    close();
    void saveTranscript(id, format);
  };
  const fork = async () => {
    close();
    const made = await attempt(() => session.fork());
    if (made) go({ view: "session", id: made.id });
  };
  const remove = async () => {
    close();
    if (!confirm(`Delete “${title}” with its log? Nothing brings it back.`)) return;
    const gone = await attempt(() => session.delete());
    if (gone) go({ view: "sessions" });
  };
  return (
    <details class="menu" {...attributes}>
      <summary aria-label="More">⋯</summary>
      <div class="inside">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            close();
            rename(String(new FormData(event.currentTarget).get("title") ?? ""));
          }}
        >
          <label>
            Title <input name="title" defaultValue={title} maxLength={200} />
          </label>{" "}
          <button type="submit">Rename</button>
        </form>
        <button type="button" onClick={() => void fork()}>
          Fork
        </button>
        {FORMATS.map((format) => (
          <button type="button" key={format[0]} onClick={() => save(format)}>
            Transcript as {format[1]}
          </button>
        ))}
        <button type="button" class="danger" onClick={() => void remove()}>
          Delete
        </button>
      </div>
    </details>
  );
}
