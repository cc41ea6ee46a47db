// What the model says in a soak: turns of every kind, in scripts that differ in their order. Two kinds end only when they
// are cancelled.

const lorem = "The otter sleeps on its back, and holds hands so as not to drift. ";

/** One turn each. `mark` is in the command line of processes that would run on if they were not ended. */
const turnsOf = (mark) => ({
  short: { steps: [{ reply: [{ text: lorem, chunks: 6 }] }] },
  slow: {
    steps: [
      {
        reply: [
          { thought: lorem, chunks: 3 },
          { text: lorem.repeat(4), chunks: 40, delayMs: 25 },
        ],
      },
    ],
  },
  long: { steps: [{ reply: [{ text: lorem.repeat(1000), chunks: 20, delayMs: 2 }] }] },
  read: {
    steps: [
      { reply: [{ call: "Read", args: { path: "README.md" } }] },
      { reply: [{ text: "It is read.", chunks: 2 }, { usage: { input: 900, output: 30 } }] },
    ],
  },
  write: {
    steps: [
      { reply: [{ text: "Writing." }, { call: "Write", args: { path: "notes.md", content: lorem.repeat(20) } }] },
      { reply: [{ call: "Edit", args: { path: "notes.md", old: "nothing like it", new: "x" } }] },
      { reply: [{ text: "Written, as far as it was allowed.", chunks: 3 }] },
    ],
  },
  shell: {
    steps: [
      {
        reply: [
          { call: "Bash", args: { command: "for i in 1 2 3 4; do echo line $i; sleep 0.05; done; date >> log.txt" } },
        ],
      },
      { reply: [{ text: "Run.", chunks: 2 }] },
    ],
  },
  endless: {
    steps: [
      { reply: [{ text: "Waiting." }, { call: "Bash", args: { command: `echo on; sleep ${mark} & sleep ${mark}` } }] },
      { reply: [{ text: "It was not allowed." }] },
    ],
  },
  stalled: { steps: [{ reply: [{ text: lorem, chunks: 4, delayMs: 5 }, { stall: true }] }] },
  refused: { steps: [{ reply: [{ text: "Then " }, { error: { code: "unauthorized" } }] }] },
});

/** `count` scripts; a session that goes on past the last turn starts over. */
export function makeScripts({ chance, count, mark }) {
  const turns = Object.values(turnsOf(mark));
  return Array.from({ length: count }, () => JSON.stringify({ repeat: true, turns: chance.shuffled(turns) }));
}
