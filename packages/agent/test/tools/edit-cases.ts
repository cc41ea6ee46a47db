/**
 * Results of Edit for passages that models write from memory. `after` is the text after an edit that must succeed; `or` has other correct
 * texts. It is null for an edit that must be refused, because it means another text or two places.
 */
export interface EditCase {
  readonly name: string;
  readonly before: string;
  readonly old: string;
  readonly now: string;
  readonly after: string | null;
  readonly or?: readonly string[];
  /** Both are right: this text, or a refusal. */
  readonly mayRefuse?: true;
}

const TS = `export function sum(a: number, b: number): number {
  return a + b;
}

export function mul(a: number, b: number): number {
  return a * b;
}

export async function load(id: string) {
  const res = await fetch(\`/api/\${id}\`);
  if (!res.ok) {
    throw new Error('failed');
  }
  return res.json();
}
`;

const PY = `import os


class Store:
    def __init__(self, path):
        self.path = path
        self.items = {}

    def load(self):
        with open(self.path) as f:
            for line in f:
                key, value = line.split('=')
                self.items[key] = value
        return self.items

    def save(self):
        with open(self.path, 'w') as f:
            for key, value in self.items.items():
                f.write(f'{key}={value}')
`;

const GO = `package main

import "fmt"

func main() {
\tfor i := 0; i < 10; i++ {
\t\tfmt.Println(i)
\t}
}
`;

const crlf = (text: string) => text.replaceAll("\n", "\r\n");
const swap = (text: string, old: string, now: string) => text.split(old).join(now);

const exact: EditCase[] = [
  {
    name: "dollar signs in the replacement are text",
    before: TS,
    old: "  return a * b;",
    now: "  return `$&$1$$`;",
    after: swap(TS, "  return a * b;", "  return `$&$1$$`;"),
  },
  { name: "a part of a line", before: "a b c\n", old: "b", now: "B", after: "a B c\n" },
  { name: "a whole file", before: "only", old: "only", now: "other\n", after: "other\n" },
  { name: "a deletion within a line", before: "keep drop keep\n", old: " drop", now: "", after: "keep keep\n" },
  { name: "a deletion of a line", before: "a\nb\nc\n", old: "b\n", now: "", after: "a\nc\n" },
  { name: "two lines joined on purpose", before: "a =\n1\n", old: "a =\n", now: "a = ", after: "a = 1\n" },
  {
    name: "an exact place wins over those that are only alike",
    before: "  x = 1\nx = 1;\n\tx = 1\n",
    old: "  x = 1\n",
    now: "  x = 9\n",
    after: "  x = 9\nx = 1;\n\tx = 1\n",
  },
  {
    name: "emoji and combining marks",
    before: "a 👩‍💻 b\ne\u0301\n",
    old: "👩‍💻",
    now: "x",
    after: "a x b\ne\u0301\n",
  },
  { name: "half of an emoji in the passage", before: "a😀b\n", old: "a\ud83d", now: "x", after: null },
  { name: "half of an emoji in the new text", before: "a\n", old: "a", now: "\ud83d", after: null },
  { name: "a letter without its accent", before: "cafe\u0301 = 1\n", old: "cafe", now: "tea", after: null },
  {
    name: "a letter with and one without an accent",
    before: "cafe\u0301 = 1\ncafe = 2\n",
    old: "cafe",
    now: "tea",
    after: "cafe\u0301 = 1\ntea = 2\n",
  },
  { name: "nothing but indentation", before: "  a()\n", old: "  a()", now: "    a()", after: "    a()\n" },
  { name: "backslashes stay", before: 'a = "\\n"\n', old: '"\\n"', now: '"\\t"', after: 'a = "\\t"\n' },
];

const endings: EditCase[] = [
  {
    name: "a line becomes two in a CRLF file",
    before: crlf(TS),
    old: "  return a * b;",
    now: "  const p = a * b;\n  return p;",
    after: crlf(swap(TS, "  return a * b;", "  const p = a * b;\n  return p;")),
  },
  {
    name: "a CRLF passage in an LF file",
    before: TS,
    old: "  return a * b;\r\n}",
    now: "  return 0;\r\n}",
    after: swap(TS, "  return a * b;", "  return 0;"),
  },
  {
    name: "an LF passage that ends within a line of a CRLF file",
    before: crlf(TS),
    old: "}\n\nexport function mul",
    now: "}\n\n/** Multiplies. */\nexport function mul",
    after: crlf(swap(TS, "export function mul", "/** Multiplies. */\nexport function mul")),
  },
  { name: "mixed endings stay as they are", before: "a\nb\r\nc\n", old: "b", now: "x", after: "a\nx\r\nc\n" },
  {
    name: "mixed endings, several lines",
    before: "a\nb\r\nc\nd\r\n",
    old: "a\nb\nc\nd",
    now: "a\nB\nc\nd",
    after: "a\nB\r\nc\nd\r\n",
  },
  {
    name: "mixed endings, a line is added after a CRLF one",
    before: "a\nb\r\nc\r\nd\n",
    old: "b\nc",
    now: "b\nb2\nc",
    after: "a\nb\r\nb2\r\nc\r\nd\n",
  },
  {
    name: "byte order mark and CRLF",
    before: "\ufeffa\r\nb\r\nc\r\n",
    old: "b\nc",
    now: "B\nc",
    after: "\ufeffa\r\nB\r\nc\r\n",
  },
  { name: "a mark in the new text", before: "\ufeffa\nb\n", old: "a\nb", now: "\ufeffa\nB", after: "\ufeffa\nB\n" },
  { name: "a mark in both", before: "\ufeffa\nb\n", old: "\ufeffa", now: "\ufeffA", after: "\ufeffA\nb\n" },
  { name: "half of a line ending in the passage", before: "a\r\nb\r\n", old: "b\r", now: "x\r", after: "a\r\nx\r\n" },
  {
    name: "a CRLF passage becomes LF lines in a CRLF file",
    before: "a\r\nb\r\nc\r\n",
    old: "a\r\nb",
    now: "a\nx\nb",
    after: "a\r\nx\r\nb\r\nc\r\n",
  },
  { name: "a final newline in a CRLF file", before: "a\r\nb", old: "b", now: "b\n", after: "a\r\nb\r\n" },
  { name: "the first line after a mark", before: "\ufeffa  \nb\n", old: "a\nb", now: "A\nb", after: "\ufeffA\nb\n" },
  { name: "the last line of CRLF without an end", before: "a\r\nb", old: "b", now: "b\nc", after: "a\r\nb\r\nc" },
  {
    name: "CRLF and blanks at line ends",
    before: "a = 1  \r\nb = 2\r\n",
    old: "a = 1\nb = 2",
    now: "a = 1\nb = 3",
    after: "a = 1  \r\nb = 3\r\n",
    or: ["a = 1\r\nb = 3\r\n"],
  },
  {
    name: "CRLF and lost indentation",
    before: crlf(PY),
    old: "def load(self):\n    with open(self.path) as f:",
    now: "def load(self):\n    log()\n    with open(self.path) as f:",
    after: crlf(swap(PY, "    def load(self):\n", "    def load(self):\n        log()\n")),
  },
  {
    name: "line endings themselves are changed",
    before: "a\r\nb\r\n",
    old: "a\r\nb\r\n",
    now: "a\nb\n",
    after: "a\nb\n",
    mayRefuse: true,
  },
  { name: "every place in a CRLF file", before: "x\r\ny\r\nx\r\ny\r\n", old: "x\ny", now: "z\ny", after: null },
];

const blanks: EditCase[] = [
  {
    name: "the passage lost its common indentation",
    before: PY,
    old: "def load(self):\n    with open(self.path) as f:",
    now: "def load(self):\n    with open(self.path, 'r') as f:",
    after: swap(PY, "open(self.path) as", "open(self.path, 'r') as"),
  },
  {
    name: "all indentation was lost, one line for one line",
    before: PY,
    old: "def load(self):\nwith open(self.path) as f:\nfor line in f:",
    now: "def load(self):\nwith open(self.path, 'r') as f:\nfor line in f:",
    after: swap(PY, "open(self.path) as", "open(self.path, 'r') as"),
    mayRefuse: true,
  },
  {
    name: "all indentation was lost, and a line is added",
    before: PY,
    old: "def load(self):\nwith open(self.path) as f:\nfor line in f:",
    now: "def load(self):\nwith open(self.path) as f:\nlog()\nfor line in f:",
    after: null,
  },
  {
    name: "the passage is too deep",
    before: PY,
    old: "            def load(self):\n                with open(self.path) as f:",
    now: "            def load(self):\n                print(1)\n                with open(self.path) as f:",
    after: swap(PY, "    def load(self):\n", "    def load(self):\n        print(1)\n"),
  },
  {
    name: "half the indentation, and a deeper line",
    before: PY,
    old: "  def load(self):\n    with open(self.path) as f:\n      for line in f:",
    now: "  def load(self):\n    with open(self.path) as f:\n      if not f:\n        return {}\n      for line in f:",
    after: swap(
      PY,
      "            for line in f:",
      "            if not f:\n                return {}\n            for line in f:",
    ),
  },
  {
    name: "the first line lost its indentation, another has blanks at its end",
    before: "class A:\n    def a(self):  \n        return 1\n    def b(self):\n        return 2\n",
    old: "def a(self):\n        return 1",
    now: "def a(self):\n        x = 1\n        return x",
    after: "class A:\n    def a(self):  \n        x = 1\n        return x\n    def b(self):\n        return 2\n",
    or: ["class A:\n    def a(self):\n        x = 1\n        return x\n    def b(self):\n        return 2\n"],
  },
  {
    name: "one line is off",
    before: PY,
    old: "    def load(self):\n        with open(self.path) as f:\n          for line in f:\n                key, value = line.split('=')",
    now: "    def load(self):\n        with open(self.path) as f:\n          for line in f:\n                line = line.strip()\n                key, value = line.split('=')",
    after: swap(PY, "                key, value", "                line = line.strip()\n                key, value"),
  },
  {
    name: "tabs in the file, blanks in the old passage",
    before: GO,
    old: "    for i := 0; i < 10; i++ {\n        fmt.Println(i)\n    }",
    now: "\tfor i := 0; i < 20; i++ {\n\t\tfmt.Println(i)\n\t}",
    after: swap(GO, "i < 10", "i < 20"),
  },
  {
    name: "tabs in the file, blanks in both",
    before: GO,
    old: "    for i := 0; i < 10; i++ {\n        fmt.Println(i)\n    }",
    now: "    for i := 0; i < 10; i++ {\n        if i > 3 {\n            fmt.Println(i)\n        }\n    }",
    after: swap(GO, "\t\tfmt.Println(i)\n", "\t\tif i > 3 {\n\t\t\tfmt.Println(i)\n\t\t}\n"),
  },
  {
    name: "tabs in the file, two blanks a level in both",
    before: GO,
    old: "  for i := 0; i < 10; i++ {\n    fmt.Println(i)\n  }",
    now: "  for i := 0; i < 10; i++ {\n    if i > 3 {\n      fmt.Println(i)\n    }\n  }",
    after: swap(GO, "\t\tfmt.Println(i)\n", "\t\tif i > 3 {\n\t\t\tfmt.Println(i)\n\t\t}\n"),
  },
  {
    name: "tabs in the file, blanks and lost depth in both",
    before: GO,
    old: "for i := 0; i < 10; i++ {\n    fmt.Println(i)\n}",
    now: "for i := 0; i < 10; i++ {\n    if i > 3 {\n        fmt.Println(i)\n    }\n}",
    after: swap(GO, "\t\tfmt.Println(i)\n", "\t\tif i > 3 {\n\t\t\tfmt.Println(i)\n\t\t}\n"),
  },
  {
    name: "tabs in the file, one line of deep blanks",
    before: GO,
    old: "        fmt.Println(i)\n    }",
    now: "        fmt.Println(i)\n        fmt.Println()\n    }",
    after: swap(GO, "\t\tfmt.Println(i)\n", "\t\tfmt.Println(i)\n\t\tfmt.Println()\n"),
  },
  {
    name: "blanks in the file, tabs in both",
    before: PY,
    old: "\tdef load(self):\n\t\twith open(self.path) as f:",
    now: "\tdef load(self):\n\t\tif not self.path:\n\t\t\treturn {}\n\t\twith open(self.path) as f:",
    after: swap(
      PY,
      "        with open(self.path) as f",
      "        if not self.path:\n            return {}\n        with open(self.path) as f",
    ),
  },
  {
    name: "two blanks a level in the file, four in both",
    before: TS,
    old: "    if (!res.ok) {\n        throw new Error('failed');\n    }",
    now: "    if (!res.ok) {\n        if (res.gone) {\n            return null;\n        }\n        throw new Error('failed');\n    }",
    after: swap(TS, "    throw new", "    if (res.gone) {\n      return null;\n    }\n    throw new"),
  },
  {
    name: "two blanks a level in the file and in the new text, four in the old",
    before: TS,
    old: "    if (!res.ok) {\n        throw new Error('failed');\n    }",
    now: "  if (!res.ok) {\n    throw new Error('gone');\n  }",
    after: swap(TS, "'failed'", "'gone'"),
  },
  {
    name: "a recipe of a makefile, in blanks, and a line is added",
    before: "all:\n\tgcc -c a.c\n\nclean:\n\trm -f a\n",
    old: "clean:\n        rm -f a",
    now: "clean:\n        rm -f a\n        rm -f a.o",
    after: "all:\n\tgcc -c a.c\n\nclean:\n\trm -f a\n\trm -f a.o\n",
  },
  {
    name: "lines that lost their indentation are wrapped",
    before: "  (\n    <div>\n      <p>Hi</p>\n    </div>\n  )\n",
    old: "<div>\n  <p>Hi</p>\n</div>",
    now: "<>\n  <div>\n    <p>Hi</p>\n  </div>\n</>",
    after: "  (\n    <>\n      <div>\n        <p>Hi</p>\n      </div>\n    </>\n  )\n",
  },
  {
    name: "lines that lost their indentation are swapped",
    before: "  a()\n  b()\n",
    old: "a()\nb()",
    now: "b()\na()",
    after: "  b()\n  a()\n",
  },
  {
    name: "blanks at line ends of the file",
    before: "const a = 1;   \nconst b = 2;\n",
    old: "const a = 1;\nconst b = 2;",
    now: "const a = 1;\nconst b = 3;",
    after: "const a = 1;   \nconst b = 3;\n",
    or: ["const a = 1;\nconst b = 3;\n"],
  },
  {
    name: "blanks at line ends of the passage",
    before: "const a = 1;\nconst b = 2;\n",
    old: "const a = 1;  \nconst b = 2;  ",
    now: "const a = 1;  \nconst b = 3;",
    after: "const a = 1;\nconst b = 3;\n",
  },
  {
    name: "an empty line that has blanks in the file",
    before: "def a():\n    x = 1\n    \n    return x\n",
    old: "    x = 1\n\n    return x",
    now: "    x = 2\n\n    return x",
    after: "def a():\n    x = 2\n    \n    return x\n",
    or: ["def a():\n    x = 2\n\n    return x\n"],
  },
  {
    name: "an empty line that has blanks in the passage",
    before: "def a():\n    x = 1\n\n    return x\n",
    old: "    x = 1\n    \n    return x",
    now: "    x = 2\n    \n    return x",
    after: "def a():\n    x = 2\n\n    return x\n",
  },
  {
    name: "blanks within a line",
    before: "const  x   = 1;\nconst y = 2;\n",
    old: "const x = 1;\nconst y = 2;",
    now: "const x = 5;\nconst y = 2;",
    after: "const x = 5;\nconst y = 2;\n",
  },
  {
    name: "blanks around operators and brackets",
    before: "if(a==b){\n  foo( a,b );\n}\n",
    old: "if (a == b) {\n  foo(a, b);\n}",
    now: "if (a == b) {\n  foo(b, a);\n}",
    after: "if(a==b){\n  foo(b, a);\n}\n",
    or: ["if (a == b) {\n  foo(b, a);\n}\n"],
  },
  {
    name: "a line in blanks of its own, every level deeper",
    before: "a:\n  b:\n    c: 1\n    d: 2\n",
    old: "b:\n  c: 1\n  d: 2",
    now: "b:\n  c: 1\n  d: 2\n  e:\n    f: 3",
    after: "a:\n  b:\n    c: 1\n    d: 2\n    e:\n      f: 3\n",
  },
  {
    name: "a blank line before that the file does not have",
    before: "a\n  b  \nc\n",
    old: "\nb\nc\n",
    now: "\nB\nc\n",
    after: "a\n  B\nc\n",
    or: ["a\n  B  \nc\n"],
  },
  {
    name: "lines are deleted, though their indentation is off",
    before: PY,
    old: "def save(self):\n    with open(self.path, 'w') as f:\n        for key, value in self.items.items():\n            f.write(f'{key}={value}')\n",
    now: "",
    after: PY.slice(0, PY.indexOf("    def save")),
  },
  {
    name: "nothing but white space is changed, from another",
    before: "\tfoo()\n\tbar()\n",
    old: "    foo()\n    bar()",
    now: "  foo()\n  bar()",
    after: null,
  },
  {
    name: "a passage of blank lines",
    before: "a\n\nb\n",
    old: "  \n  \n",
    now: "x",
    after: null,
  },
];

const lookalikes: EditCase[] = [
  {
    name: "curly quotes in the file",
    before: "const s = “hello”;\nconst t = 1;\n",
    old: 'const s = "hello";',
    now: 'const s = "bye";',
    after: 'const s = "bye";\nconst t = 1;\n',
    or: ["const s = “bye”;\nconst t = 1;\n"],
  },
  {
    name: "curly quotes in the passage",
    before: 'const s = "hello";\nconst t = 1;\n',
    old: "const s = “hello”;\nconst t = 1;",
    now: "const s = “hello”;\nconst t = 2;",
    after: 'const s = "hello";\nconst t = 2;\n',
  },
  {
    name: "other curly quotes survive",
    before: "a = “keep me”\nb = 1   \nc = 2\n",
    old: "b = 1\nc = 2",
    now: "b = 1\nc = 3",
    after: "a = “keep me”\nb = 1   \nc = 3\n",
    or: ["a = “keep me”\nb = 1\nc = 3\n"],
  },
  {
    name: "a blank that does not break",
    before: "x =\u00a01\ny = 2\n",
    old: "x = 1\ny = 2",
    now: "x = 1\ny = 3",
    after: "x =\u00a01\ny = 3\n",
    or: ["x = 1\ny = 3\n"],
  },
  {
    name: "a long dash",
    before: "# Notes — first\ntext\n",
    old: "# Notes - first\ntext",
    now: "# Notes - second\ntext",
    after: "# Notes - second\ntext\n",
    or: ["# Notes — second\ntext\n"],
  },
  {
    name: "an apostrophe and an ellipsis",
    before: "It’s here…\nend\n",
    old: "It's here...\nend",
    now: "It's gone...\nend",
    after: "It's gone...\nend\n",
    or: ["It’s gone…\nend\n"],
  },
  {
    name: "one letter made of two characters",
    before: "name = 'Rene\u0301'\nage = 1\n",
    old: "name = 'Ren\u00e9'\nage = 1",
    now: "name = 'Ren\u00e9'\nage = 2",
    after: "name = 'Rene\u0301'\nage = 2\n",
    or: ["name = 'Ren\u00e9'\nage = 2\n"],
  },
  {
    name: "a blank without width",
    before: "a\u200bb = 1\nc = 2\n",
    old: "ab = 1\nc = 2",
    now: "ab = 1\nc = 3",
    after: "a\u200bb = 1\nc = 3\n",
    or: ["ab = 1\nc = 3\n"],
  },
  {
    name: "curly quotes in a part of a line",
    before: "say(“hello”, 1);\nsay(2);\n",
    old: '"hello", 1',
    now: '"bye", 1',
    after: 'say("bye", 1);\nsay(2);\n',
    or: ["say(“bye”, 1);\nsay(2);\n"],
  },
  {
    name: "curly quotes in parts of two lines",
    before: "say(“hello”, 1);\nsay(2);\n",
    old: '"hello", 1',
    now: '"hello",\n  1',
    after: 'say("hello",\n  1);\nsay(2);\n',
  },
  { name: "curly quotes in two lines alike", before: "a(“x”)\nb(“x”)\n", old: '("x")', now: "()", after: null },
  { name: "a letter of another alphabet", before: "p\u0430ss = 1\n", old: "pass = 1", now: "pass = 2", after: null },
  { name: "a raised digit", before: "x² = 1\n", old: "x2 = 1", now: "x2 = 2", after: null },
  {
    name: "curly quotes and other indentation",
    before: "\tsay(“hi”)\n\tend()\n",
    old: '    say("hi")\n    end()',
    now: '    say("hi")\n    stop()',
    after: "\tsay(“hi”)\n\tstop()\n",
    or: ['\tsay("hi")\n\tstop()\n'],
  },
];

const others: EditCase[] = [
  { name: "two exact places", before: "x\ny\nx\n", old: "x", now: "z", after: null },
  {
    name: "two places after white space drift",
    before: "def a():\n    x = 1\n    return x\n\ndef b():\n    x = 1\n    return x\n",
    old: "x = 1\nreturn x",
    now: "x = 2\nreturn x",
    after: null,
  },
  {
    name: "a number differs by one digit",
    before: "const TIMEOUT_MS = 30000;\nconst RETRIES = 5;\n",
    old: "const TIMEOUT_MS = 3000;\nconst RETRIES",
    now: "const TIMEOUT_MS = 1000;\nconst RETRIES",
    after: null,
  },
  { name: "another operator", before: "if (a && b) {\n}\n", old: "if (a || b) {", now: "if (a) {", after: null },
  {
    name: "letters in another case",
    before: "const Foo = 1;\n",
    old: "const foo = 1;",
    now: "const bar = 1;",
    after: null,
  },
  {
    name: "a negation is missing",
    before: "if (!ok) {\n  stop();\n}\n",
    old: "if (ok) {\n  stop();\n}",
    now: "x",
    after: null,
  },
  { name: "blanks in a literal count", before: "a.split(', ')\n", old: "a.split(',')", now: "b", after: null },
  { name: "two words are not one", before: "return x\n", old: "returnx", now: "y", after: null },
  { name: "two operators are not one", before: "a = b - -c\n", old: "a = b --c", now: "y", after: null },
  { name: "a line is missing in the passage", before: "a\nb\nc\n", old: "a\nc", now: "x", after: null },
  { name: "a line too many in the passage", before: "a\nc\n", old: "a\nb\nc", now: "x", after: null },
  { name: "an omission is not understood", before: TS, old: "export function sum\n...\n}", now: "x", after: null },
  { name: "line breaks written as escapes", before: "a\nb\n", old: "a\\nb", now: "x", after: null },
  { name: "quotes written as escapes", before: 'a = "b"\n', old: 'a = \\"b\\"', now: "x", after: null },
  { name: "entities", before: "a < b\n", old: "a &lt; b", now: "x", after: null },
  { name: "an empty passage", before: "abc\n", old: "", now: "x", after: null },
  { name: "an empty passage in an empty file", before: "", old: "", now: "x", after: null },
  { name: "the same text", before: "abc\n", old: "abc", now: "abc", after: null },
  {
    name: "no newline at the end, but in the passage",
    before: "a\nb\nlast",
    old: "b\nlast\n",
    now: "b\nLAST\n",
    after: "a\nb\nLAST",
    or: ["a\nb\nLAST\n"],
  },
  {
    name: "no newline at the end, and a line is added",
    before: "a\r\nb\r\nlast",
    old: "b\nlast\n",
    now: "b\nmore\nlast\nend\n",
    after: "a\r\nb\r\nmore\r\nlast\r\nend",
  },
  {
    name: "line numbers from a read",
    before: TS,
    old: "     2\t  return a + b;",
    now: "     2\t  return b + a;",
    after: swap(TS, "a + b", "b + a"),
  },
  {
    name: "line numbers in the passage alone, over an empty line",
    before: TS,
    old: "3\t}\n4\t\n5\texport function mul(a: number, b: number): number {",
    now: "}\n\nexport function times(a: number, b: number): number {",
    after: swap(TS, "mul", "times"),
  },
  {
    name: "line numbers that are wrong",
    before: TS,
    old: "     9\t  return a + b;",
    now: "     9\t  return b;",
    after: null,
  },
  {
    name: "line numbers in a part of the replacement",
    before: TS,
    old: "2\t  return a + b;",
    now: "2\t  return b;\n  return a;",
    after: null,
  },
  { name: "numbers that belong to the text", before: "1\ta\n2\tb\n", old: "2\tb", now: "2\tc", after: "1\ta\n2\tc\n" },
];

export const editCases: readonly EditCase[] = [...exact, ...endings, ...blanks, ...lookalikes, ...others];
