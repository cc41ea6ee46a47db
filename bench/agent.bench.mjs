// The agent against bare Node: 20,000 deltas from a loopback model through provider and loop to a sink, what importing
// the package costs, and what an idle agent weighs.
import { execFileSync } from "node:child_process";
import { request } from "node:http";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { startChatModel } from "./chat-model.mjs";
import { cleanEnv, interleave, median, milliseconds, row } from "./report.mjs";

const deltas = 20_000;
await measure();

async function measure() {
  const entry = fileURLToPath(new URL("../packages/agent/dist/index.js", import.meta.url));
  const { createAgent, createModels, openaiFirst } = await import(pathToFileURL(entry).href);
  const { createParser } = createRequire(entry)("eventsource-parser");
  const model = await startChatModel();
  const asked = JSON.stringify({ messages: [{ role: "user", content: String(deltas) }] });

  const floor = () =>
    new Promise((resolve, reject) => {
      let characters = 0;
      const parser = createParser({
        onEvent({ data }) {
          if (data !== "[DONE]") characters += JSON.parse(data).choices[0].delta.content?.length ?? 0;
        },
      });
      const sent = request(`${model.url}/chat/completions`, { method: "POST" }, (reply) => {
        reply.setEncoding("utf8");
        reply.on("data", (text) => parser.feed(text)).on("end", () => resolve(characters));
      });
      sent.on("error", reject).end(asked);
    });

  const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "x" };
  const agent = createAgent({ resolveModel: createModels({ env, chain: openaiFirst }) });
  const turn = {
    sessionId: "bench",
    number: 0,
    prompt: { text: String(deltas) },
    history: [],
    settings: {
      model: "gpt-4o",
      agent: "build",
      autoApproveWrites: false,
      autoApproveExecute: false,
      readOnly: false,
      maxSteps: 1,
      maxCostUsd: null,
      spentUsd: 0,
      allowedTools: null,
      mcpServers: [],
    },
  };
  const context = {
    ask: async () => ({ decision: "deny", by: "timeout" }),
    workspace: {},
    signal: new AbortController().signal,
  };
  const ours = async () => {
    let characters = 0;
    for await (const event of agent(turn, context)) {
      if (event.type === "text_delta") characters += event.metadata.text.length;
    }
    return characters;
  };
  if ((await ours()) !== (await floor())) throw new Error("the agent and the floor read different texts");

  const streams = await interleave(
    { ours: () => milliseconds(ours), floor: () => milliseconds(floor) },
    { runs: 15, warmup: 5 },
  );
  await model.close();
  const perSecond = (samples) => (deltas / median(samples)) * 1000;
  row({
    name: "agent: 20,000 deltas",
    ours: perSecond(streams.ours),
    floor: perSecond(streams.floor),
    unit: "deltas/s",
    target: 0.6,
    better: "higher",
  });

  const node = (code) => execFileSync(process.execPath, ["--input-type=module", "-e", code], { env: cleanEnv() });
  const importing = `import ${JSON.stringify(pathToFileURL(entry).href)};`;
  const starts = await interleave(
    { bare: () => milliseconds(() => node("")), imported: () => milliseconds(() => node(importing)) },
    { runs: 15, warmup: 2 },
  );
  const bareStart = median(starts.bare);
  row({ name: "agent: import", ours: median(starts.imported) - bareStart, unit: "ms", target: "15 ms" });

  const weigh = "gc(); console.log(process.memoryUsage.rss() / 2 ** 20);";
  const idle = `import { createAgent, createModels, openaiFirst } from ${JSON.stringify(pathToFileURL(entry).href)};
    globalThis.agent = createAgent({ resolveModel: createModels({ env: {}, chain: openaiFirst }) });`;
  const weight = (code) =>
    Number(
      execFileSync(process.execPath, ["--expose-gc", "--input-type=module", "-e", code + weigh], { env: cleanEnv() }),
    );
  const weights = await interleave({ bare: () => weight(""), idle: () => weight(idle) }, { runs: 7 });
  row({ name: "agent: idle", ours: median(weights.idle) - median(weights.bare), unit: "MiB", target: "10 MiB" });
}
