// Coding work in several steps, in no vendor's words: what the model says, and what is in the files when it is done.
import type { ModelReply, Said } from "../packages/agent/test/vendors/vendor.js";

export interface Transcript {
  readonly name: string;
  readonly files: Readonly<Record<string, string>>;
  /** Each in a process of its own. */
  readonly turns: readonly Turn[];
  /** The files that matter in the end; null: there is none. */
  readonly after: Readonly<Record<string, string | null>>;
}

interface Turn {
  readonly prompt: string;
  readonly replies: readonly ModelReply[];
}

const think = (reasoning: string): Said => ({ reasoning });
const say = (text: string): Said => ({ text });
const hidden: Said = { hidden: true };
const read = (path: string, more = {}): Said => ({ call: "Read", args: { path, ...more } });
const write = (path: string, content: string): Said => ({ call: "Write", args: { path, content } });
const edit = (path: string, old_string: string, new_string: string): Said => ({
  call: "Edit",
  args: { path, old_string, new_string },
});
const bash = (command: string): Said => ({ call: "Bash", args: { command } });
const search = (pattern: string): Said => ({ call: "search", args: { pattern } });
const list = (path = "."): Said => ({ call: "list_files", args: { path } });

const step = (...says: Said[]): ModelReply => ({ says });
const done = (text = "Done."): ModelReply => ({ says: [think("All is in place."), say(text)] });
const turn = (prompt: string, ...replies: ModelReply[]): Turn => ({ prompt, replies });

const SUM = "export const sum = (a, b) => a - b;\n";
const FIXED = "export const sum = (a, b) => a + b;\n";
const CHECK = 'import { sum } from "./sum.mjs";\nif (sum(2, 3) !== 5) throw new Error("wrong");\nconsole.log("ok");\n';
const LONG = Array.from({ length: 700 }, (_, n) => `line ${n}`).join("\n");
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The bytes of this file, in place of its text. */
export const BINARY: Readonly<Record<string, string>> = { "pixel.png": PIXEL };

export const transcripts: readonly Transcript[] = [
  {
    name: "reads a file and mends it",
    files: { "sum.mjs": SUM },
    turns: [
      turn(
        "sum is wrong",
        step(think("I look first."), say("Let me look."), read("sum.mjs")),
        step(think("A minus."), edit("sum.mjs", "a - b", "a + b")),
        done("It adds now."),
      ),
    ],
    after: { "sum.mjs": FIXED },
  },
  {
    name: "thinks between two calls of one reply",
    files: { "a.txt": "one\n", "b.txt": "two\n" },
    turns: [
      turn("compare", step(think("First a."), read("a.txt"), think("Then b."), read("b.txt")), done("They differ.")),
      turn("again", step(think("Once more."), read("a.txt")), done("They still do.")),
    ],
    after: { "a.txt": "one\n" },
  },
  {
    name: "runs a check until it passes",
    files: { "sum.mjs": SUM, "check.mjs": CHECK },
    turns: [
      turn(
        "make the check pass",
        step(bash("node check.mjs")),
        step(think("It fails."), read("sum.mjs"), read("check.mjs")),
        step(say("A sign is wrong."), edit("sum.mjs", "-", "+")),
        step(bash("node check.mjs")),
        done("It passes."),
      ),
    ],
    after: { "sum.mjs": FIXED },
  },
  {
    name: "says something between two calls",
    files: { "a.txt": "1\n" },
    turns: [
      turn("go", step(read("a.txt"), say("Now I write."), write("b.txt", "2\n"), say("And again."), list()), done()),
    ],
    after: { "b.txt": "2\n" },
  },
  {
    name: "has reasoning that nobody may read",
    files: { "a.txt": "1\n" },
    turns: [
      turn("go", step(hidden, read("a.txt")), step(hidden, think("Aha."), write("a.txt", "2\n")), done()),
      turn("more", step(hidden, say("More."), write("a.txt", "3\n")), done()),
    ],
    after: { "a.txt": "3\n" },
  },
  {
    name: "has reasoning without a word",
    files: { "a.txt": "1\n" },
    turns: [
      turn("go", step(think(""), read("a.txt")), step(think(""), say("Writing."), write("a.txt", "2\n")), done()),
    ],
    after: { "a.txt": "2\n" },
  },
  {
    name: "reads fifteen files at once",
    files: Object.fromEntries(Array.from({ length: 15 }, (_, n) => [`f${n}.txt`, `${n}\n`])),
    turns: [
      turn(
        "add them up",
        step(think("All of them."), ...Array.from({ length: 15 }, (_, n) => read(`f${n}.txt`))),
        step(write("sum.txt", "105\n")),
        done("105."),
      ),
    ],
    after: { "sum.txt": "105\n" },
  },
  {
    name: "writes three files at once, in order",
    files: {},
    turns: [turn("set up", step(write("a", "1"), write("a", "2"), write("a", "3")), step(read("a")), done())],
    after: { a: "3" },
  },
  {
    name: "misses its place, looks, and finds it",
    files: { "sum.mjs": SUM },
    turns: [
      turn(
        "fix it",
        step(edit("sum.mjs", "a-b", "a+b")),
        step(think("Blanks."), say("I look again."), read("sum.mjs")),
        step(edit("sum.mjs", "a - b", "a + b")),
        done(),
      ),
    ],
    after: { "sum.mjs": FIXED },
  },
  {
    name: "calls a tool by another name",
    files: { "a.txt": "1\n" },
    turns: [
      turn(
        "go",
        step(
          { call: "read_file", args: { path: "a.txt" } },
          { call: "write_file", args: { path: "b.txt", content: "2" } },
        ),
        done(),
      ),
      turn("again", step({ call: "GREP", args: { pattern: "1" } }), done()),
    ],
    after: { "b.txt": "2" },
  },
  {
    name: "calls a tool that there is not",
    files: { "a.txt": "1\n" },
    turns: [
      turn(
        "go",
        step({ call: "apply_patch", args: { patch: "x" } }),
        step(think("No such tool."), read("a.txt")),
        done(),
      ),
    ],
    after: { "a.txt": "1\n" },
  },
  {
    name: "writes arguments with blanks and escapes of its own",
    files: { "a.txt": "1\n" },
    turns: [
      turn(
        "go",
        step({ call: "Read", args: '{ "path" : "\\u0061.txt" ,\n "limit" : 1 }' }),
        step(think("Good."), { call: "Write", args: '{"path":"b.txt", "content":"\\ud83c\\udf89 caf\\u00e9\\n"}' }),
        done(),
      ),
      turn("again", step(read("b.txt")), done()),
    ],
    after: { "b.txt": "🎉 café\n" },
  },
  {
    name: "leaves something out of a call and is asked for it",
    files: { "a.txt": "1\n" },
    turns: [turn("go", step({ call: "Write", args: { path: "b.txt" } }), step(write("b.txt", "2")), done())],
    after: { "b.txt": "2" },
  },
  {
    name: "renames something across files",
    files: { "a.js": "export const old = 1;\n", "b.js": 'import { old } from "./a.js";\nold;\n', "c.md": "old\n" },
    turns: [
      turn(
        "rename old to fresh in the code",
        step(search("\\bold\\b")),
        step(
          { call: "replace_in_file", args: { path: "a.js", pattern: "\\bold\\b", replacement: "fresh" } },
          { call: "replace_in_file", args: { path: "b.js", pattern: "\\bold\\b", replacement: "fresh" } },
        ),
        step(search("old")),
        done("The document still says old."),
      ),
    ],
    after: {
      "a.js": "export const fresh = 1;\n",
      "b.js": 'import { fresh } from "./a.js";\nfresh;\n',
      "c.md": "old\n",
    },
  },
  {
    name: "keeps a list of what is left",
    files: {},
    turns: [
      turn(
        "two things",
        step({ call: "todo", args: { todos: [{ content: "a", status: "in_progress" }, { content: "b" }] } }),
        step(write("a", "1"), {
          call: "todo",
          args: { todos: [{ content: "a", status: "completed" }, { content: "b" }] },
        }),
        step(write("b", "2")),
        done(),
      ),
      turn("what is left?", done("Nothing.")),
    ],
    after: { a: "1", b: "2" },
  },
  {
    name: "thinks aloud with a tool",
    files: {},
    turns: [turn("hm", step({ call: "think", args: { thought: "first a, then b" } }), step(write("a", "1")), done())],
    after: { a: "1" },
  },
  {
    name: "goes on over four turns, each in another process",
    files: { n: "0" },
    turns: [1, 2, 3, 4].map((n) =>
      turn(
        `to ${n}`,
        step(think(`Now ${n}.`), say(`Setting ${n}.`), write("n", String(n))),
        step(read("n")),
        done(`It is ${n}.`),
      ),
    ),
    after: { n: "4" },
  },
  {
    name: "speaks in other scripts and signs",
    files: { "süß.txt": "日本語\n" },
    turns: [
      turn(
        "读一下",
        step(think("考える 🤔"), say("読みます。"), read("süß.txt")),
        step(think("‏עברית"), edit("süß.txt", "日本語", "🎌 日本")),
        done("完成 ✅"),
      ),
      turn("merci", done("De rien – à bientôt.")),
    ],
    after: { "süß.txt": "🎌 日本\n" },
  },
  {
    name: "reads a long file in parts",
    files: { "long.txt": LONG },
    turns: [
      turn(
        "find line 650",
        step(read("long.txt", { limit: 200 })),
        step(think("Further down."), read("long.txt", { offset: 600, limit: 100 })),
        step(search("line 650")),
        done(),
      ),
    ],
    after: { "long.txt": LONG },
  },
  {
    name: "writes 24 KB and changes one line of it",
    files: {},
    turns: [
      turn("write much", step(say("Writing."), write("big.txt", `${"word ".repeat(4_900)}\nend\n`)), done()),
      turn("and the end", step(edit("big.txt", "\nend\n", "\nthe end\n")), done()),
    ],
    after: { "big.txt": `${"word ".repeat(4_900)}\nthe end\n` },
  },
  {
    name: "looks at a picture",
    files: { "pixel.png": "" },
    turns: [
      turn(
        "what is it?",
        step(think("A picture."), read("pixel.png")),
        step(write("answer.txt", "a pixel")),
        done("A pixel."),
      ),
      turn("sure?", step(read("answer.txt")), done("Sure.")),
    ],
    after: { "answer.txt": "a pixel" },
  },
  {
    name: "runs commands that fail and that say nothing",
    files: {},
    turns: [
      turn(
        "try",
        step(bash("exit 3"), bash("true")),
        step(bash("ls nowhere")),
        step(bash("mkdir -p a && echo x > a/b")),
        done(),
      ),
    ],
    after: { "a/b": "x\n" },
  },
  {
    name: "wants out of the workspace and is kept in",
    files: { "a.txt": "1\n" },
    turns: [
      turn(
        "look around",
        step(think("Up."), read("../../outside.txt")),
        step(say("Then here."), read("a.txt")),
        done(),
      ),
    ],
    after: { "a.txt": "1\n" },
  },
  {
    name: "answers at once, then works, then only answers",
    files: {},
    turns: [
      turn("hello", { says: [say("Hello.")] }),
      turn("make a", step(write("a", "1")), { says: [say("Made.")] }),
      turn("thanks", { says: [think("Polite."), say("You are "), say("welcome.")] }),
      turn("and b", step(hidden, write("b", "2"), think("Checking."), list()), done()),
    ],
    after: { a: "1", b: "2" },
  },
  {
    name: "says the things that formats trip over",
    files: {},
    turns: [
      turn(
        'data: [DONE]\n\nevent: message_stop\ndata: {"type":"message_stop"}',
        step(think("\n\n"), say("data: [DONE]\n\n"), write("x.txt", '"}]}\\n\n\u2028data: {"done":true}\n')),
        step(say('{"done":true}\n'), read("x.txt")),
        done('finish_reason: "stop"'),
      ),
      turn("again", step(read("x.txt")), done()),
    ],
    after: { "x.txt": '"}]}\\n\n\u2028data: {"done":true}\n' },
  },
];
