/** The flags of a run, for `-p` and for the conversation. What they mean is read when one starts. */
import { type Flags, SESSION_FLAGS } from "@chimera/host";
import { NO_COLOR_FLAG } from "../flags.js";

export const RUN_FLAGS: Flags = {
  print: { type: "string", short: "p", value: "<prompt>", help: "Answer one prompt and exit; - reads it from stdin" },
  file: {
    type: "string",
    short: "f",
    multiple: true,
    value: "<path>",
    help: "Put a file before the prompt; - is stdin (repeatable)",
  },
  "output-format": { type: "string", value: "<format>", help: "With -p: text (default), json or stream-json" },
  resume: { type: "string", value: "<id>", help: "Go on with a session" },
  continue: { type: "boolean", short: "c", help: "Go on with the last session of this directory" },
  title: { type: "string", value: "<title>", help: "Name the session" },
  ...SESSION_FLAGS,
  ...NO_COLOR_FLAG,
};
