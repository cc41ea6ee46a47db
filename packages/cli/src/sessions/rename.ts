/** `sessions rename`: a title of one's own; none takes it away. */
import { type Invocation, openCore } from "@chimera/host";
import { requireOperand } from "../actions.js";
import { whereOpen } from "../client/holder.js";
import { isSet } from "../flags.js";
import { printJson, printLines } from "../output.js";
import { plainLine } from "../terminal/plain.js";

export async function renameSession(invocation: Invocation): Promise<number> {
  const id = requireOperand(invocation, "a session and its title: sessions rename <id> <title>");
  const title = plainLine(invocation.operands.slice(1).join(" "));
  const { core } = await openCore(invocation);
  try {
    await whereOpen(invocation, core, id, {
      here: (session) => session.setTitle(title),
      there: async (post) => void (await post("title", { title })),
    });
  } finally {
    await core.close();
  }
  if (isSet(invocation.flags, "json", "sessions")) printJson(invocation, { session_id: id, title });
  else printLines(invocation, [title === "" ? `${id} has no title now` : `${id} is now called ${title}`]);
  return 0;
}
