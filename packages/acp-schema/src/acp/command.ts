/** Slash commands the agent offers. */
import * as v from "valibot";
import { maybe, object, requiredItems } from "../define/shape.js";

/** Everything after the command's name. */
export const UnstructuredCommandInput = object(() => ({ hint: v.string() }));
export type UnstructuredCommandInput = v.InferOutput<typeof UnstructuredCommandInput>;

export const AvailableCommandInput = UnstructuredCommandInput;
export type AvailableCommandInput = v.InferOutput<typeof AvailableCommandInput>;

export const AvailableCommand = object(() => ({
  name: v.string(),
  description: v.string(),
  input: maybe(AvailableCommandInput),
}));
export type AvailableCommand = v.InferOutput<typeof AvailableCommand>;

export const AvailableCommandsUpdate = object(() => ({ availableCommands: requiredItems(AvailableCommand) }));
export type AvailableCommandsUpdate = v.InferOutput<typeof AvailableCommandsUpdate>;
