// docs/records.md says of each record what each kind of client is shown.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "../scripts/gate.mjs";

test("the page of records says what editors and the native dialects are shown of each", () => {
  const page = readFileSync(join(repositoryRoot, "docs", "records.md"), "utf8").split("\n## Shapes\n")[0]!;
  const sections = page.split("\n### ").slice(1);
  const lines = Object.fromEntries(
    sections.map((section) => [section.split("\n", 1)[0]!, /^Editors: .*$/m.exec(section)?.[0]]),
  );
  expect(Object.keys(lines).length).toBeGreaterThan(40);
  for (const [type, line] of Object.entries(lines))
    expect([type, line]).toEqual([type, expect.stringMatching(/^Editors: (nothing|`[\w/]+`( (or|and) `[\w/]+`)*)\./)]);
  expect(lines["text_delta"]).toBe(
    "Editors: `agent_message_chunk`. Native otter: `agent_message_chunk`. Native ferret: `agent_message_chunk`.",
  );
  expect(lines["thought_delta"]).toBe("Editors: `agent_thought_chunk`.");
  expect(lines["config_changed"]).toMatch(/^Editors: `current_mode_update` and `config_option_update`\./);
  expect(lines["file_edit"]).toBe("Editors: nothing. Native ferret: `file_edit`.");
});
