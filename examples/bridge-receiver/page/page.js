// The page: keeps a WebSocket to the receiver, draws what comes, sends what is typed and tapped.
import { createStream, element } from "./render.js";

const id = location.pathname.split("/").at(-1);
const key = location.hash.slice(1);
const at = (name) => document.getElementById(name);
const draw = createStream(at("stream"));
const questions = new Map();
let socket = null;
/** The last record that was drawn, and how many of its updates; a record may have several. */
let last = 0;
let drawn = 0;
let skip = 0;
let over = false;

const say = (message) => socket?.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message));

function connect() {
  socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}/watch/${id}`);
  socket.onopen = () => {
    skip = drawn;
    say({ key, since: last - 1 });
  };
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    hear[message.type]?.(message);
  };
  socket.onclose = ({ code }) => {
    for (const questionId of [...questions.keys()]) hear.settled({ id: questionId });
    showLink(over ? "ended" : code === 4401 ? "wrong link" : "connecting", "bad");
    if (!over && code !== 4401) setTimeout(connect, 2000);
  };
}

const hear = {
  state({ cwd = "", model = "", sandbox = "", approval = "", cost_total_usd: cost, attached, running }) {
    at("title").textContent = cwd.split("/").at(-1) || id;
    document.title = at("title").textContent;
    at("model").textContent = model;
    at("sandbox").textContent = sandbox;
    at("approval").textContent = approval && `approval ${approval}`;
    at("cost").textContent = cost ? `$${cost.toFixed(2)}` : "";
    // Always there: a turn may have been started elsewhere, which nobody tells.
    at("stop").hidden = !attached;
    at("send").disabled = !attached;
    showLink(attached ? (running ? "working" : "live") : "waiting for the program", attached ? "good" : "bad");
  },
  entry({ entry }) {
    if (entry.eventId === last && skip > 0) {
      skip--;
      return;
    }
    drawn = entry.eventId === last ? drawn + 1 : 1;
    last = entry.eventId;
    following(() => draw(entry.update));
  },
  question({ question }) {
    const choose = (optionId) => say({ type: "answer", id: question.id, optionId });
    const buttons = question.options.map(({ optionId, name, kind }) => {
      const button = element("button", kind, name);
      button.onclick = () => choose(optionId);
      return button;
    });
    const { title, rawInput } = question.toolCall;
    const command = rawInput?.command;
    const shown = element(
      "div",
      "",
      element(
        "div",
        "line",
        element("strong", "", command === undefined ? `Allow ${title}?` : "Allow this command?"),
        question.risk && element("span", `pill ${question.risk}`, `${question.risk} risk`),
      ),
      element("pre", "", command ?? JSON.stringify(rawInput ?? {}, null, 2)),
      element("div", "choices", ...buttons),
    );
    questions.set(question.id, shown);
    following(() => at("questions").append(shown));
  },
  settled({ id: questionId }) {
    questions.get(questionId)?.remove();
    questions.delete(questionId);
  },
  problem({ text }) {
    following(() => draw({ sessionUpdate: "notice", title: text }));
  },
  ended() {
    over = true;
    at("send").disabled = true;
    following(() =>
      draw({ sessionUpdate: "notice", title: "The program has left; this session goes on where it runs" }),
    );
  },
};

function showLink(text, className) {
  at("link").textContent = text;
  at("link").className = `pill ${className}`;
}

/** Stays at the end when the reader was there. */
function following(change) {
  const stream = at("stream");
  const atEnd = stream.scrollHeight - stream.scrollTop - stream.clientHeight < 80;
  change();
  if (atEnd) stream.scrollTop = stream.scrollHeight;
}

at("composer").onsubmit = (event) => {
  event.preventDefault();
  const text = at("text").value.trim();
  if (!text || at("send").disabled) return;
  say({ type: "prompt", text });
  at("text").value = "";
};
at("text").onkeydown = (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  at("composer").requestSubmit();
};
at("stop").onclick = () => say({ type: "cancel" });

connect();
