/** `otter` alone: a conversation with a session of this process. */
import { type Invocation, openCore } from "@chimera/host";
import { openSession, type SessionChoice } from "../open-session.js";
import { readRunFlags } from "../run-flags.js";
import { startConversation } from "./start.js";

export async function converseHere(invocation: Invocation): Promise<number> {
  const flags = readRunFlags(invocation);
  const { core, config } = await openCore(invocation);
  const approves = invocation.process.stdin.isTTY === true;
  const { cwd } = config;
  const persist = config.values.save;
  const open = (choice: SessionChoice) => openSession(invocation, core, choice, approves);
  try {
    return await startConversation(invocation, {
      approves,
      remembers: persist,
      first: await open({ ...flags, cwd, persist }),
      open: (id) => open({ cwd, last: false, persist, ...(id !== null && { resume: id }) }),
    });
  } finally {
    await core.close();
  }
}
