/** Which turns can be undone and redone. Turns that changed no file are steps too. */
import { SnapshotError } from "../errors.js";
import { isSnapId } from "./manifest.js";

export interface Step {
  readonly turn: number;
  /** Null when the turn changed no file. */
  readonly snap: string | null;
}

export interface Stack {
  /** Snapshots made so far; part of their ids. */
  readonly counter: number;
  /** Oldest first. */
  readonly undo: readonly Step[];
  /** The next one to redo last. */
  readonly redo: readonly Step[];
}

export const EMPTY_STACK: Stack = { counter: 0, undo: [], redo: [] };

/** A finished turn; the redo branch is gone. */
export function push(stack: Stack, step: Step): Stack {
  const counter = step.snap === null ? stack.counter : stack.counter + 1;
  return { counter, undo: [...stack.undo, step], redo: [] };
}

export function discardRedo(stack: Stack): Stack {
  return { ...stack, redo: [] };
}

export function dropOldest(stack: Stack): Stack {
  return { ...stack, undo: stack.undo.slice(1) };
}

export type Direction = "undo" | "redo";

const OPPOSITE = { undo: "redo", redo: "undo" } as const;

/** The next `count` steps in a direction, in the order they are taken. */
export function next(stack: Stack, direction: Direction, count: number): readonly Step[] {
  return count < 1 ? [] : stack[direction].slice(-count).reverse();
}

/** The stack after taking `count` steps in a direction. */
export function take(stack: Stack, direction: Direction, count: number): Stack {
  const taken = next(stack, direction, count);
  const rest = stack[direction].slice(0, stack[direction].length - taken.length);
  const other = OPPOSITE[direction];
  return { counter: stack.counter, undo: [], redo: [], [direction]: rest, [other]: [...stack[other], ...taken] };
}

export function checkStack(value: unknown): Stack {
  const { counter, undo, redo } = (value ?? {}) as Partial<Record<keyof Stack, unknown>>;
  if (!Number.isSafeInteger(counter) || !isSteps(undo) || !isSteps(redo)) {
    throw new SnapshotError("bad_manifest", "the undo stack is damaged");
  }
  return { counter: counter as number, undo, redo };
}

export function isStep(value: unknown): value is Step {
  const { turn, snap } = (value ?? {}) as Partial<Record<keyof Step, unknown>>;
  return Number.isSafeInteger(turn) && (snap === null || isSnapId(snap));
}

// --- internal ---

function isSteps(value: unknown): value is Step[] {
  return Array.isArray(value) && value.every(isStep);
}
