// Editors that start their own agent, and agents that live briefly: each continues from what the one before saw.
import { connectEditor, Gone } from "./acp-client.mjs";
import { pause } from "./chance.mjs";

/** `count` sessions in one child process, ended in the middle of them, and gone on with in a second one. */
export async function liveInChildren({ count, chance, surroundings, programs, ...shared }) {
  const cursors = new Map();
  const connect = async () => {
    const program = programs.start(["acp"]);
    return { program, editor: await connectEditor({ program, chance, cursors, ...shared }) };
  };

  const first = await connect();
  const lives = Array.from({ length: count }, () => liveOnce(first.editor, chance, surroundings()));
  await Promise.race([Promise.all(lives), pause(chance.between(200, 4000))]);
  await programs.end(first.program, chance.pick(["kill", "kill", "signal", "input"]));
  await Promise.all(lives);

  const second = await connect();
  try {
    for (const sessionId of cursors.keys()) await second.editor.catchUp(sessionId);
    if (cursors.size > 0) await second.editor.turn(chance.pick([...cursors.keys()]));
  } finally {
    await programs.end(second.program, chance.pick(["signal", "input"]));
  }
}

// --- internal ---

async function liveOnce(editor, chance, surroundings) {
  try {
    const sessionId = await editor.open(surroundings);
    for (let turns = chance.between(1, 3); turns > 0; turns--) await editor.turn(sessionId);
  } catch (error) {
    if (!(error instanceof Gone)) throw error;
  }
}
