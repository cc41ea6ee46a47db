// Updates -> elements. Everything that comes from outside is set as text, never as markup.

/** An element with a class and what is inside it. */
export function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Draws updates one after the other into `stream`. */
export function createStream(stream) {
  const calls = new Map();
  let plan = null;
  let open = null;

  const flowing = (className, text) => {
    if (open?.className !== className) {
      open = element("div", className);
      stream.append(open);
    }
    open.append(text);
  };
  const block = (made) => {
    open = null;
    stream.append(made);
  };

  const draw = {
    user_message_chunk: ({ content }) => {
      plan = null;
      block(element("div", "asked", content.text ?? `[${content.type}]`));
    },
    agent_message_chunk: ({ content }) => flowing("said", content.text ?? `[${content.type}]`),
    agent_thought_chunk: ({ content }) => flowing("thought", content.text ?? ""),
    tool_call: (update) => {
      const call = createCall(update);
      calls.set(update.toolCallId, call);
      block(call.root);
    },
    tool_call_update: (update) => calls.get(update.toolCallId)?.change(update),
    plan: ({ entries }) => {
      const rows = entries.map(({ content, status }) =>
        element("div", status, `${status === "completed" ? "☑" : "☐"} ${content}`),
      );
      const next = element("div", "plan", ...rows);
      if (plan) plan.replaceWith(next);
      else block(next);
      plan = next;
    },
    notice: ({ title, description }) =>
      block(element("div", "notice", [title, description].filter(Boolean).join(": "))),
    compaction_update: () => block(element("div", "notice", "Earlier messages were summarised for the model")),
  };

  return (update) => {
    if (Object.hasOwn(draw, update.sessionUpdate)) draw[update.sessionUpdate](update);
  };
}

const MARKS = { pending: "…", in_progress: "…", completed: "✓", failed: "✗" };

function createCall({ title, rawInput }) {
  const mark = element("span", "mark", MARKS.pending);
  const name = element("span", "name", title);
  const root = element("details", "call", element("summary", "", mark, name), inputOf(rawInput));
  let output = null;
  return {
    root,
    change({ status, title: renamed, content, _meta }) {
      if (renamed) name.textContent = renamed;
      if (status) {
        root.className = `call ${status}`;
        mark.textContent = MARKS[status] ?? "";
      }
      const chunk = _meta?.["chimera.dev/output"]?.chunk;
      if (!content && chunk === undefined) return;
      const next = content ? contentOf(content) : (output ?? element("pre", ""));
      if (chunk !== undefined) next.append(chunk);
      if (output) output.replaceWith(next);
      else root.append(next);
      output = next;
    },
  };
}

function inputOf(input) {
  return input && Object.keys(input).length > 0 ? element("pre", "", JSON.stringify(input, null, 2)) : null;
}

function contentOf(items) {
  const parts = items.flatMap((item) => {
    if (item.type === "diff") return diffLines(item);
    return [`${item.content?.text ?? item.terminalId ?? ""}\n`];
  });
  return element("pre", "", ...parts);
}

/** What differs between the common beginning and the common end. */
function diffLines({ path, oldText, newText }) {
  const before = oldText ? oldText.split("\n") : [];
  const after = newText.split("\n");
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start++;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  const lines = (list, sign, className) =>
    list.slice(start, list.length - end).map((line) => element("div", className, `${sign} ${line}`));
  return [`${path}\n`, ...lines(before, "-", "removed"), ...lines(after, "+", "added")];
}
