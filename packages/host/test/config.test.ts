import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  CONFIG_KEYS,
  type ConfigLayers,
  type ConfigName,
  configFlags,
  type Profile,
  readConfig,
  resolveConfig,
  settingOf,
  variableOf,
} from "../src/index.js";
import { makeHome } from "./program.js";

const NOTHING: ConfigLayers = {
  program: "otter",
  rows: {},
  flags: {},
  env: {},
  cwd: "/start",
  user: null,
  project: null,
};
const user = (values: Record<string, unknown>) => ({ path: "/home/.chimera/config.json", values });
const project = (values: Record<string, unknown>) => ({ path: "/repo/.chimera/config.json", values });

function resolveOne(name: ConfigName, layers: Partial<ConfigLayers>) {
  return resolveConfig({ ...NOTHING, ...layers }).settings.find((setting) => setting.name === name);
}

describe("the source of a value", () => {
  const layers: Partial<ConfigLayers> = {
    flags: { model: "by-flag" },
    env: { OTTER_MODEL: "by-variable" },
    project: project({ model: "by-project" }),
    trusted: () => true,
    user: user({ model: "by-user" }),
  };

  it("is not the project while the person does not trust it", () => {
    const { project } = layers;
    const resolved = resolveConfig({ ...NOTHING, project: project ?? null, user: user({ model: "by-user" }) });
    expect(settingOf(resolved, "model")).toMatchObject({ value: "by-user", layer: "user" });
    expect(resolved.untrusted).toEqual(["the setting model of /repo/.chimera/config.json"]);
    expect(resolved.problems).toEqual([expect.stringContaining("the directory is not trusted")]);
  });

  it("is the flag, then the variable, the project, the user, the default", () => {
    expect(resolveOne("model", layers)).toMatchObject({ value: "by-flag", layer: "flag", from: "--model" });
    const { flags: _, ...noFlag } = layers;
    expect(resolveOne("model", noFlag)).toMatchObject({
      value: "by-variable",
      layer: "environment",
      from: "OTTER_MODEL",
    });
    const { env: __, ...noVariable } = noFlag;
    expect(resolveOne("model", noVariable)).toMatchObject({
      value: "by-project",
      layer: "project",
      from: "/repo/.chimera/config.json",
    });
    const { project: ___, ...noProject } = noVariable;
    expect(resolveOne("model", noProject)).toMatchObject({ value: "by-user", layer: "user" });
    expect(resolveOne("model", {})).toMatchObject({ value: null, layer: "default", from: "" });
  });

  it("is known for every key, and an empty variable or a null sets nothing", () => {
    const { settings } = resolveConfig({ ...NOTHING, env: { OTTER_MODEL: "" }, user: user({ model: null }) });
    expect(settings.map(({ name }) => name)).toEqual(Object.keys(CONFIG_KEYS));
    expect(settings.every(({ layer }) => layer === "default")).toBe(true);
  });

  it("is a variable that begins with the program's name", () => {
    expect(variableOf("port", "ferret")).toBe("FERRET_PORT");
    expect(variableOf("log_level", "ferret")).toBe("CHIMERA_LOG_LEVEL");
  });

  it("decides where relative paths start: beside the file, or where the program was started", () => {
    expect(resolveOne("mcp", { user: user({ mcp: "servers.json" }) })?.value).toBe("/home/.chimera/servers.json");
    expect(resolveOne("mcp", { flags: { mcp: "servers.json" } })?.value).toBe("/start/servers.json");
  });

  it("a flag without a value means the opposite of the default", () => {
    expect(resolveOne("save", { flags: { "no-save": true } })?.value).toBe(false);
    expect(resolveOne("save", { env: { OTTER_SAVE: "no" } })?.value).toBe(false);
  });
});

describe("a project's file", () => {
  it.each<[ConfigName, unknown, unknown, unknown]>([
    ["allowed_tools", ["Read", "Bash"], ["bash", "Write"], ["bash"]],
    ["allowed_tools", null, ["Read"], ["Read"]],
    ["allowed_tools", ["Read"], [], []],
    ["max_steps", 20, 10, 10],
    ["max_steps", 20, 1000, 20],
    ["max_steps", null, 10, 10],
    ["max_cost", null, 1, 1],
    ["max_cost", 0.5, 1, 0.5],
    ["save", true, false, false],
    ["save", false, true, false],
    ["safety.read_only", false, true, true],
    ["safety.read_only", true, false, true],
    ["safety.require_approval_for_writes", false, true, true],
    ["safety.require_approval_for_execute", true, false, true],
  ])("narrows %s from %j by %j to %j", (name, ours, theirs, left) => {
    const resolved = resolveOne(name, { user: user({ [name]: ours }), project: project({ [name]: theirs }) });
    expect(resolved).toMatchObject({ value: left, limit: theirs });
  });

  it("cannot set the user's own settings, and a warning says so", () => {
    const forbidden = {
      host: "0.0.0.0",
      mcp: "evil.json",
      durability: "none",
      log_file: "/etc/passwd",
      log_level: "silent",
    };
    const { values, problems } = resolveConfig({ ...NOTHING, project: project(forbidden) });
    expect(values).toMatchObject({
      host: "127.0.0.1",
      mcp: null,
      durability: "turn",
      log_file: null,
      log_level: "info",
    });
    expect(problems).toHaveLength(5);
    expect(problems[0]).toContain("a project may not set host");
  });

  it("is overridden by flags", () => {
    const layers = { flags: { "allowed-tools": "Bash" }, project: project({ allowed_tools: ["Read"] }) };
    expect(resolveOne("allowed_tools", layers)?.value).toEqual(["Bash"]);
  });
});

describe("a group", () => {
  it.each([
    [{ safety: { read_only: true } }, true],
    [{ "safety.read_only": true }, true],
    [{ safety: { read_only: null } }, false],
    [{ safety: null }, false],
    [{ safety: {} }, false],
  ])("%j is read as %s", (values, expected) => {
    const { settings, problems } = resolveConfig({ ...NOTHING, user: user(values) });
    expect(settings.find(({ name }) => name === "safety.read_only")?.value).toBe(expected);
    expect(problems).toEqual([]);
  });

  it("has variables, and no flags", () => {
    const env = { FERRET_SAFETY_READ_ONLY: "1" };
    expect(resolveOne("safety.read_only", { program: "ferret", env })?.value).toBe(true);
    expect(Object.keys(configFlags("safety.read_only", "save"))).toEqual(["no-save"]);
  });

  it("that is not an object is refused, and an unknown key in it is named", () => {
    for (const safety of [true, "read-only", 1, ["read_only"]]) {
      expect(() => resolveConfig({ ...NOTHING, user: user({ safety }) })).toThrow(
        /config\.json: safety takes an object/,
      );
    }
    const hostile = JSON.parse('{"safety": {"read_onyl": true, "__proto__": {"read_only": true}}}');
    const { values, problems } = resolveConfig({ ...NOTHING, user: user(hostile) });
    expect(values["safety.read_only"]).toBe(false);
    expect(problems).toEqual([
      '/home/.chimera/config.json: unknown setting "safety.read_onyl"; did you mean safety.read_only?',
      expect.stringContaining('unknown setting "safety.__proto__"'),
    ]);
  });
});

describe("invalid configuration", () => {
  it("is reported for unknown keys, with the nearest known one", () => {
    const { problems } = resolveConfig({ ...NOTHING, user: user({ modle: "x" }), project: project({ __proto__x: 1 }) });
    expect(problems).toEqual([
      '/home/.chimera/config.json: unknown setting "modle"; did you mean model?',
      expect.stringContaining('unknown setting "__proto__x"'),
    ]);
  });

  it.each<[ConfigName, unknown]>([
    ["port", "80"],
    ["port", 70_000],
    ["port", -1],
    ["max_steps", 1.5],
    ["max_cost", Number.NaN],
    ["allowed_tools", "Read"],
    ["allowed_tools", [1]],
    ["save", "yes"],
    ["durability", "sometimes"],
    ["mcp", ""],
    ["model", {}],
    ["limits", { each: { turns: -1 } }],
    ["limits", { each: { trns: 1 } }],
    ["limits", { each: { constructor: 1 } }],
    ["providers", ["@ai-sdk/mistral"]],
    ["providers", { mistral: "@ai-sdk/mistral" }],
    ["providers", { mistral: {} }],
    ["providers", { mistral: { package: "" } }],
    ["providers", { "a/b": { package: "@ai-sdk/mistral" } }],
    ["providers", { mistral: { package: "@ai-sdk/mistral", options: "key" } }],
    ["providers", { mistral: { package: "@ai-sdk/mistral", context_window: -1 } }],
    ["providers", { mistral: { package: "@ai-sdk/mistral", optoins: {} } }],
  ])("%s: %j in a file is refused by name", (name, value) => {
    const attempt = () => resolveConfig({ ...NOTHING, user: user({ [name]: value }) });
    expect(attempt).toThrow(`/home/.chimera/config.json: ${name} takes`);
  });

  it("is reported without the options of a provider or the value in their place", () => {
    const providers = { shop: { package: "p", options: { apiKey: "hush-hush" } } };
    const { values, settings } = resolveConfig({ ...NOTHING, user: user({ providers }) });
    expect(values.providers).toEqual({ shop: { ...providers.shop, contextWindow: null } });
    expect(JSON.stringify(settings)).not.toContain("hush-hush");
    const attempt = () => resolveConfig({ ...NOTHING, user: user({ providers: { shop: { apiKey: "hush-hush" } } }) });
    expect(attempt).toThrow(/^(?!.*hush-hush).*providers takes/);
  });

  it.each([
    ["OTTER_PORT", "eighty"],
    ["OTTER_SAVE", "maybe"],
    ["CHIMERA_LOG_LEVEL", "loud"],
    ["OTTER_PROVIDERS", "{mistral"],
  ])("%s=%s is refused by name", (variable, value) => {
    expect(() => resolveConfig({ ...NOTHING, env: { [variable]: value } })).toThrow(`${variable} takes`);
  });
});

describe("config files", () => {
  const profile = { name: "otter", settings: {} } as Profile;
  const read = (home: string, cwd: string, flags = {}) => {
    const own = { env: { CHIMERA_HOME: join(home, ".chimera") }, cwd: () => cwd };
    return readConfig({ profile, flags, process: Object.assign(Object.create(process), own) as NodeJS.Process });
  };
  const write = async (folder: string, text: string) => {
    await mkdir(join(folder, ".chimera"), { recursive: true });
    await writeFile(join(folder, ".chimera", "config.json"), text);
  };

  it("of the user and of the directory are read, and those of another directory on request", async () => {
    const home = await makeHome();
    const [one, two] = [join(home, "one"), join(home, "two")];
    await write(home, '\uFEFF{"max_steps": 20}');
    await write(one, '{"max_steps": 5}');
    await mkdir(two);
    const config = read(home, one);
    expect(config.values.max_steps).toBe(5);
    expect(config.under(two).values.max_steps).toBe(20);
  });

  it("of the user is not taken for a project's in the home directory", async () => {
    const home = await makeHome();
    await write(home, '{"durability": "event"}');
    await symlink(home, join(home, "link"));
    for (const cwd of [home, join(home, "link")]) {
      expect(read(home, cwd)).toMatchObject({ problems: [], values: { durability: "event" } });
    }
  });

  it.each([
    ["not JSON", "{", /config\.json: .*JSON/],
    ["an array", "[]", /takes an object/],
    ["null", "null", /takes an object/],
    ["too long", `{"model": "${"x".repeat(1024 * 1024)}"}`, /at most/],
  ])("that are %s are refused by name", async (_, text, message) => {
    const home = await makeHome();
    await write(home, text);
    expect(() => read(home, home)).toThrow(message);
  });

  it("that are not regular files are refused, and missing ones count as empty", async () => {
    const home = await makeHome();
    expect(read(home, home).problems).toEqual([]);
    await mkdir(join(home, ".chimera", "config.json"), { recursive: true });
    expect(() => read(home, home)).toThrow("takes a file");
  });
});

describe("a program's own settings", () => {
  const words = ["strict", "loose"];
  const rows: ConfigLayers["rows"] = {
    wall: {
      kind: {
        takes: "strict or loose",
        fromText: (text) => words.find((word) => word === text),
        fromJson: (value) => words.find((word) => word === value),
      },
      default: "loose",
      flag: "wall",
      env: "*_WALL",
      project: { narrow: (ours, theirs) => (theirs === "strict" ? theirs : ours) },
      help: "How strict",
    },
  };
  const wall = (layers: Partial<ConfigLayers>) => resolveConfig({ ...NOTHING, rows, ...layers }).values["wall"];

  it("come from the same layers, and a project may only narrow them", () => {
    expect(wall({})).toBe("loose");
    expect(wall({ user: user({ wall: "strict" }), project: project({ wall: "loose" }) })).toBe("strict");
    expect(wall({ user: user({ wall: "loose" }), project: project({ wall: "strict" }) })).toBe("strict");
    expect(wall({ env: { OTTER_WALL: "strict" } })).toBe("strict");
    expect(wall({ env: { OTTER_WALL: "strict" }, flags: { wall: "loose" } })).toBe("loose");
  });

  it("are unknown to a program that does not have them", () => {
    const problems = (layers: Partial<ConfigLayers>) => resolveConfig({ ...NOTHING, ...layers }).problems;
    expect(problems({ user: user({ wall: "strict" }) })).toEqual([expect.stringContaining('"wall"')]);
    expect(problems({ rows, user: user({ wall: "strict" }) })).toEqual([]);
  });

  it("with an invalid value are refused with the values they take", () => {
    expect(() => wall({ flags: { wall: "open" } })).toThrow(/--wall takes strict or loose/);
  });
});
