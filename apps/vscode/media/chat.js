// The page of the chat panel: draws items at their places, and sends what a person types. Text is never read as HTML.
const host = acquireVsCodeApi();
const list = document.getElementById("items");
const text = document.getElementById("text");
const stop = document.getElementById("stop");
const STATES = { running: "running…", done: "done", failed: "failed" };

const element = (name, className, content) => {
  const node = document.createElement(name);
  node.className = className;
  if (content !== undefined) node.textContent = content;
  return node;
};

function draw(item, before) {
  if (item.type !== "tool") return element("article", item.type, item.text);
  const card = element("article", `tool ${item.state}`);
  const details = document.createElement("details");
  // What a person opened or closed stays so.
  details.open = before?.querySelector("details")?.open ?? item.state === "running";
  const summary = element("summary", "", item.title);
  summary.append(element("span", "state", STATES[item.state]));
  details.append(summary, element("pre", "", item.output));
  card.append(details);
  return card;
}

function place(index, item) {
  const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
  const before = list.children[index];
  const node = draw(item, before);
  if (before) before.replaceWith(node);
  else list.append(node);
  if (isAtEnd) list.scrollTop = list.scrollHeight;
}

addEventListener("message", ({ data }) => {
  if (data.type === "item") place(data.index, data.item);
  if (data.type === "busy") stop.hidden = !data.isBusy;
  if (data.type === "reset") {
    list.replaceChildren();
    for (const [index, item] of data.items.entries()) place(index, item);
  }
});

document.getElementById("form").addEventListener("submit", (event) => {
  event.preventDefault();
  host.postMessage({ type: "prompt", text: text.value });
  text.value = "";
});
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  document.getElementById("form").requestSubmit();
});
stop.addEventListener("click", () => host.postMessage({ type: "command", text: "chimera.cancel" }));
document
  .getElementById("undo")
  .addEventListener("click", () => host.postMessage({ type: "command", text: "chimera.undo" }));
host.postMessage({ type: "ready" });
