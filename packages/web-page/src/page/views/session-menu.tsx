/** The actions on a session besides prompts: name it, fork it, save its transcript, delete it. */
import { useEffect, useRef } from "preact/hooks";
import { attempt, client } from "../server/client.js";
import { go } from "./route.js";

const FORMATS = [
  ["html", "HTML", "text/html"],
  ["md", "Markdown", "text/markdown"],
  ["json", "JSON", "application/json"],
] as const;

export function SessionMenu({
  id,
  title,
  rename,
}: {
  readonly id: string;
  readonly title: string;
  readonly rename: (title: string) => void;
}) {
  const menu = useRef<HTMLDetailsElement>(null);
  const session = client.sessions.open(id);
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
  const save = async (format: (typeof FORMATS)[number][0], type: string) => {
    close();
    // A link would not send the token.
    const text = await attempt(() => session.transcript(format));
    if (text === null) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = `${id}.${format}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
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
    <details
      class="menu"
      ref={menu}
      onKeyDown={({ key }) => {
        if (key !== "Escape") return;
        close();
        menu.current?.querySelector("summary")?.focus();
      }}
    >
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
        {FORMATS.map(([format, name, type]) => (
          <button type="button" key={format} onClick={() => void save(format, type)}>
            Transcript as {name}
          </button>
        ))}
        <button type="button" class="danger" onClick={() => void remove()}>
          Delete
        </button>
      </div>
    </details>
  );
}
