/** `@chimera/agent/scripted`: a model that plays a script, to test clients and agents without a network. */
export { createScriptedModel } from "./providers/scripted/model.js";
export { parseScript, readScript, type Script, type ScriptInput } from "./providers/scripted/script.js";
