// The page of the chat panel: shows items in their places, and sends the person's text. Text is never parsed as HTML.
const host = acquireVsCodeApi();
const list = document.getElementById("items");
const text = document.getElementById("text");
const stop = document.getElementById("stop");
const STATES = { running: "running…", done: "done", failed: "failed" };
const SIGNS = { "+": "added", "-": "removed", "@": "hunk" };

const element = (name, className, content) => {
  const node = document.createElement(name);
  node.className = className;
  if (content !== undefined) node.textContent = content;
  return node;
};

function draw(item, before) {
  if (item.type === "tool") return drawCall(item, before);
  if (item.type === "question") return drawQuestion(item);
  if (item.type !== "diff") return element("article", item.type, item.text);
  const node = element("article", "diff");
  node.append(drawDiff(item.text));
  return node;
}

function drawCall(item, before) {
  const card = element("article", `tool ${item.state}`);
  const details = document.createElement("details");
  // A card that a person opened or closed stays so. Otherwise it closes when its call is done.
  const earlier = before?.querySelector("details");
  const isChosen = earlier?.dataset.chosen === "yes";
  details.open = isChosen ? earlier.open : item.state !== "done";
  if (isChosen) details.dataset.chosen = "yes";
  const summary = element("summary", item.output === "" ? "bare" : "", item.title);
  summary.append(element("span", "state", STATES[item.state]));
  summary.addEventListener("click", () => {
    details.dataset.chosen = "yes";
  });
  details.append(summary);
  if (item.output !== "") details.append(element("pre", "", item.output));
  card.append(details);
  return card;
}

function drawQuestion({ title, text, diff, answer }) {
  const card = element("article", `question ${answer === null ? "waiting" : ""}`);
  const head = element("header", "", title);
  head.append(element("span", "state", answer ?? "waiting for you"));
  card.append(head);
  if (text !== "") card.append(element("pre", "", text));
  if (diff !== "") card.append(drawDiff(diff));
  return card;
}

function drawDiff(text) {
  const block = element("pre", "lines");
  for (const line of text.split("\n")) block.append(element("span", SIGNS[line[0]] ?? "", `${line}\n`));
  return block;
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
