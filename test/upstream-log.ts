// A session that another program wrote: a file per event, no `session_id`, no title, times that are not wall time.

/** The files of its directory, by name. */
export function upstreamLog(id: string, cwd: string): Record<string, object> {
  const event = (idx: number, type: string, metadata: object) => {
    const event_id = (0xaaaaaaaa + idx).toString(16);
    return { [`event-00000${idx}-${event_id}.json`]: { idx, event_id, type, timestamp: 12.5 + idx, metadata } };
  };
  const result = { output: "did it", steps: 4, tool_calls_total: 3, cost: 0.07, success: true };
  return {
    "summary.json": {
      run_id: id,
      started_at: "2026-04-25T12:03:00Z",
      ended_at: "2026-04-25T12:03:30Z",
      model: "offline",
      prompt: "do the thing",
      cwd,
      agent: "otter",
      steps: 4,
      tool_calls_total: 3,
      success: true,
      cost_usd: 0.07,
      total_tokens: 0,
      error: null,
    },
    ...event(0, "user_message", { content: "do the thing" }),
    ...event(1, "tool_call", { tool: "read_file", args: { path: "x" }, result: "y" }),
    ...event(2, "agent_result", result),
  };
}
