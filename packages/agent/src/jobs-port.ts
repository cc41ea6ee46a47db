/** The port of jobs, commands that go on after their call: what tools see of them. */
import type { Workspace } from "@chimera/acp-schema/agent";
import type { ProcessGroup } from "./tools/process-group.js";

/** The jobs of one session. */
export interface Jobs {
  readonly isFull: boolean;
  readonly all: readonly Job[];
  /** Takes over a command that runs. */
  adopt(command: RunningCommand): Job;
  /** Called when a turn begins: undo covers what its jobs change from then on. The end of the turn ends that by itself. */
  cover(turn: number, workspace: Pick<Workspace, "willRun">): Promise<void>;
  close(): Promise<void>;
}

export interface Job {
  readonly id: string;
  readonly command: string;
  /** `running`, or how it ended. */
  readonly state: string;
  /** What it has written since the last call. */
  read(): string;
  /** False when it takes no input. */
  write(text: string): boolean;
  /** Resolves when it has ended, or the time or the caller's patience is over. */
  ended(ms: number, signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

export interface RunningCommand {
  readonly callId: string;
  readonly command: string;
  readonly group: ProcessGroup;
  /** From now on output goes to this function. */
  redirect(show: (stream: "stdout" | "stderr", text: string) => void): void;
  /** Called once it has ended and what it left is gone. */
  settle(failed: boolean): Promise<void>;
}
