// The part of an editor plugin that understands an agent: lines from the agent in, what the panel shows out.
import { PromptResponse, RequestPermissionRequest, SessionNotification } from "@chimera/acp-schema";
import { safeParse } from "valibot";

/** Folds the lines of a conversation into what a panel shows. Lines that make no sense are counted, never thrown. */
export function readConversation(lines) {
  const panel = { text: "", thought: "", tools: {}, plan: [], asked: [], stopReason: null, cost: null, ignored: 0 };
  for (const line of lines) {
    const frame = JSON.parse(line);
    if (frame.method === "session/update") show(panel, safeParse(SessionNotification, frame.params));
    else if (frame.method === "session/request_permission")
      ask(panel, safeParse(RequestPermissionRequest, frame.params));
    else if (frame.result?.stopReason) finish(panel, safeParse(PromptResponse, frame.result));
  }
  return panel;
}

const shown = {
  agent_message_chunk: (panel, { content }) => {
    if (content.type === "text") panel.text += content.text;
  },
  agent_thought_chunk: (panel, { content }) => {
    if (content.type === "text") panel.thought += content.text;
  },
  tool_call: (panel, { toolCallId, title, kind, status }) => {
    panel.tools[toolCallId] = { title, kind, status };
  },
  tool_call_update: (panel, { toolCallId, status }) => {
    panel.tools[toolCallId] = { ...panel.tools[toolCallId], status };
  },
  plan: (panel, { entries }) => {
    panel.plan = entries;
  },
  usage_update: (panel, { cost }) => {
    panel.cost = cost;
  },
};

function show(panel, { success, output }) {
  if (success) shown[output.update.sessionUpdate]?.(panel, output.update);
  else panel.ignored += 1;
}

function ask(panel, { success, output }) {
  if (success) panel.asked.push({ title: output.toolCall.title, options: output.options.map(({ kind }) => kind) });
  else panel.ignored += 1;
}

function finish(panel, { success, output }) {
  if (success) panel.stopReason = output.stopReason;
}
