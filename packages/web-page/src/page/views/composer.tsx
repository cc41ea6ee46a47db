/** Where prompts are written: slash commands, names of files, pictures; sent while a turn runs, they wait in the queue. */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { attempt, client } from "../server/client.js";
import { applySuggestion, type Suggestion, suggest } from "./suggestion.js";

/** Unsent text by session, so that it is there when the person comes back. */
const drafts = new Map<string, string>();

export function Composer({ sessionId, isBusy }: { readonly sessionId: string; readonly isBusy: boolean }) {
  const box = useRef<HTMLTextAreaElement>(null);
  const text = useSignal(drafts.get(sessionId) ?? "");
  const offered = useSignal<readonly Suggestion[]>([]);
  const marked = useSignal(0);
  const pictures = useSignal<readonly Attachment[]>([]);
  const isSending = useSignal(false);

  const write = (value: string) => {
    text.value = value;
    drafts.set(sessionId, value);
  };
  const lookUp = async () => {
    const { value, selectionStart } = box.current!;
    const found = await suggest(sessionId, value.slice(0, selectionStart)).catch(() => []);
    // The person may have continued writing meanwhile.
    if (box.current?.value !== value) return;
    offered.value = found;
    marked.value = 0;
  };
  const choose = (suggestion: Suggestion) => {
    const { value, selectionStart } = box.current!;
    const { text: next, caret } = applySuggestion(value, selectionStart, suggestion);
    write(next);
    offered.value = [];
    queueMicrotask(() => {
      box.current?.focus();
      box.current?.setSelectionRange(caret, caret);
      if (suggestion.isFolder) void lookUp();
    });
  };
  const send = async () => {
    const prompt = text.value.trim();
    if (prompt === "" || isSending.value) return;
    isSending.value = true;
    const content = pictures.value.map(({ block }) => block);
    const body = { prompt, ...(content.length > 0 && { content }) };
    const sent = await attempt(() => client.call("POST /sessions/{id}/turns", { id: sessionId, body }));
    isSending.value = false;
    if (!sent) return;
    write("");
    pictures.value = [];
    offered.value = [];
  };
  const cancel = () => void attempt(() => client.call("POST /sessions/{id}/cancel", { id: sessionId }));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const count = offered.value.length;
    if (count > 0 && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      marked.value = (marked.value + (event.key === "ArrowDown" ? 1 : count - 1)) % count;
    } else if (count > 0 && (event.key === "Tab" || event.key === "Enter") && !event.shiftKey) {
      event.preventDefault();
      choose(offered.value[marked.value]!);
    } else if (count > 0 && event.key === "Escape") offered.value = [];
    else if (event.key === "Escape" && isBusy) cancel();
    else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void send();
    }
  };
  const attach = async (files: Iterable<File>) => {
    const read = await Promise.all([...files].map((file) => attempt(() => readPicture(file))));
    pictures.value = [...pictures.value, ...read.filter((one) => one !== null)];
  };

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDrop={(event) => {
        event.preventDefault();
        void attach(event.dataTransfer?.files ?? []);
      }}
      onDragOver={(event) => event.preventDefault()}
    >
      {offered.value.length > 0 && (
        <div class="suggestions" id="suggestions" role="listbox" aria-label="Suggestions" tabIndex={0}>
          {offered.value.map((one, at) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text field.
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text field.
            <div
              role="option"
              key={one.insert}
              id={`suggestion-${at}`}
              aria-selected={at === marked.value}
              onClick={() => choose(one)}
            >
              <b>{one.label}</b> {one.about}
            </div>
          ))}
        </div>
      )}
      {pictures.value.length > 0 && (
        <ul class="pictures" aria-label="Pictures that go with the prompt">
          {pictures.value.map((picture) => (
            <li key={picture.name}>
              {picture.name}{" "}
              <button
                type="button"
                aria-label={`Remove ${picture.name}`}
                onClick={() => {
                  pictures.value = pictures.value.filter((one) => one !== picture);
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={box}
        aria-label="Prompt"
        aria-autocomplete="list"
        {...(offered.value.length > 0 && {
          "aria-controls": "suggestions",
          "aria-activedescendant": `suggestion-${marked.value}`,
        })}
        rows={Math.min(10, text.value.split("\n").length + 1)}
        placeholder={
          isBusy ? "Write the next prompt: it waits for its turn" : "Write a prompt; / for commands, @ for files"
        }
        value={text.value}
        onInput={(event) => {
          write(event.currentTarget.value);
          void lookUp();
        }}
        onKeyDown={onKeyDown}
        onPaste={(event) => void attach(event.clipboardData?.files ?? [])}
      />
      <div class="actions">
        {isBusy && (
          <button type="button" onClick={cancel} aria-keyshortcuts="Escape">
            Cancel
          </button>
        )}
        <button type="submit" class="main" disabled={text.value.trim() === "" || isSending.value}>
          {isBusy ? "Queue" : "Send"}
        </button>
      </div>
    </form>
  );
}

// --- internal ---

/** A picture that goes with a prompt. */
interface Attachment {
  readonly name: string;
  readonly block: { readonly type: "image"; readonly mimeType: string; readonly data: string };
}

const PICTURE_BYTES = 4 * 1024 * 1024;

/** Throws for a file that is not a picture, or is too large. */
async function readPicture(file: File): Promise<Attachment> {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(file.type))
    throw new Error(`${file.name} is not a picture that models read`);
  if (file.size > PICTURE_BYTES) throw new Error(`${file.name} is larger than 4 MiB`);
  const address = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
  const data = address.slice(address.indexOf(",") + 1);
  return { name: file.name || "picture", block: { type: "image", mimeType: file.type, data } };
}
