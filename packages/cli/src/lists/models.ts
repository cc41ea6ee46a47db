/** `models`: the models worth choosing with the keys that are set, the default first. */
import { suggestModels } from "@chimera/agent/providers";
import { type Invocation, readConfig } from "@chimera/host";
import { choiceFlag, isSet, textFlag } from "../flags.js";
import { printJson, printLines } from "../output.js";

export async function listModels(invocation: Invocation): Promise<number> {
  const { flags, profile, process } = invocation;
  const { values } = readConfig(invocation);
  const suggested = suggestModels(process.env, profile.chain);
  const models = [...new Set([...(values.model === null ? [] : [values.model]), ...suggested])];
  const format = isSet(flags, "json") ? "json" : choiceFlag("format", textFlag(flags, "format"), ["text", "json"]);
  if (format === "json") printJson(invocation, { default: models[0], models });
  else printLines(invocation, models);
  return 0;
}
