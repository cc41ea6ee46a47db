// Emacs and Neovim of Debian (emacs-nox, neovim) read the settings of their pages, start the program that these name, and hold a
// turn with it. A few lines stand in for the plugins, which neither npm nor Debian has; keywords that those do not take are errors.
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { repositoryRoot } from "../scratch.js";
import { removeHome } from "./home.js";

const SAID = "Hello from the script.";
const script = { turns: [{ steps: [{ reply: [{ text: SAID, chunks: 2 }] }] }] };

/** Talks over pipes as acp.el does, one JSON a line. */
const EMACS = `
(require 'cl-lib)
(require 'json)
(provide 'agent-shell)
(cl-defun agent-shell-make-agent-config (&key identifier mode-line-name buffer-name shell-prompt shell-prompt-regexp client-maker)
  (ignore identifier mode-line-name buffer-name shell-prompt shell-prompt-regexp)
  client-maker)
(cl-defun acp-make-client (&key command command-params context-buffer)
  (ignore context-buffer)
  (cons command command-params))
(defvar chosen nil)
(cl-defun agent-shell-start (&key config) (setq chosen (funcall config (current-buffer))))
(load (expand-file-name "init.el") nil t)
(call-interactively 'ferret)
(defvar received "")
(defvar program
  (make-process :name "agent" :command chosen :connection-type 'pipe :coding 'utf-8-unix :stderr (get-buffer-create "log")
                :filter (lambda (_ text) (setq received (concat received text)))))
(defun messages ()
  (mapcar (lambda (line) (json-parse-string line :object-type 'alist))
          (cl-remove-if-not (lambda (line) (string-suffix-p "}" line)) (split-string received "\\n" t))))
(defun ask (id method params)
  (process-send-string program (concat (json-serialize \`((jsonrpc . "2.0") (id . ,id) (method . ,method) (params . ,params))) "\\n"))
  (let (answer)
    (while (not (setq answer (cl-find id (messages) :key (lambda (one) (and (not (assq 'method one)) (alist-get 'id one))))))
      (accept-process-output program 0.1))
    (alist-get 'result answer)))
(ask 1 "initialize" '((protocolVersion . 1) (clientCapabilities . #s(hash-table))))
(let* ((opened (ask 2 "session/new" \`((cwd . ,(expand-file-name "work")) (mcpServers . []))))
       (id (alist-get 'sessionId opened))
       (ended (ask 3 "session/prompt" \`((sessionId . ,id) (prompt . [((type . "text") (text . "go"))])))))
  (princ (json-serialize
          \`((stop . ,(alist-get 'stopReason ended))
            (text . ,(mapconcat
                      (lambda (one)
                        (let ((update (alist-get 'update (alist-get 'params one))))
                          (if (equal (alist-get 'sessionUpdate update) "agent_message_chunk")
                              (alist-get 'text (alist-get 'content update))
                            "")))
                      (messages) ""))))))
`;

/** Starts a job as CodeCompanion does. */
const NEOVIM = `
local chosen
package.preload["codecompanion"] = function()
  return { setup = function(opts) chosen = opts.adapters.acp[opts.interactions.chat.adapter]() end }
end
package.preload["codecompanion.adapters"] = function()
  return { extend = function(name, changes) assert(name == "goose"); return changes end }
end
dofile("init.lua")
local received, text = "", ""
local answers = {}
local job = vim.fn.jobstart(chosen.commands.default, {
  on_stdout = function(_, lines)
    received = received .. table.concat(lines, "\\n")
    while received:find("\\n") do
      local line
      line, received = received:match("^(.-)\\n(.*)$")
      local message = vim.json.decode(line)
      if not message.method then answers[message.id] = message.result end
      local update = message.params and message.params.update
      if update and update.sessionUpdate == "agent_message_chunk" then text = text .. update.content.text end
    end
  end,
})
local function ask(id, method, params)
  vim.fn.chansend(job, vim.json.encode({ jsonrpc = "2.0", id = id, method = method, params = params }) .. "\\n")
  vim.wait(30000, function() return answers[id] ~= nil end, 20)
  return answers[id]
end
ask(1, "initialize", { protocolVersion = 1, clientCapabilities = vim.empty_dict() })
local session = ask(2, "session/new", { cwd = vim.fn.getcwd() .. "/work", mcpServers = {} }).sessionId
local ended = ask(3, "session/prompt", { sessionId = session, prompt = { { type = "text", text = "go" } } })
io.stdout:write(vim.json.encode({ stop = ended.stopReason, text = text }))
vim.cmd("qall!")
`;

test.each([
  { page: "emacs.md", block: "elisp", init: "init.el", run: EMACS, editor: ["emacs", "-Q", "--batch", "-l", "run"] },
  {
    page: "neovim.md",
    block: "lua",
    init: "init.lua",
    run: NEOVIM,
    editor: ["nvim", "--clean", "--headless", "-c", "luafile run", "-c", "cquit"],
  },
])("the settings of $page start ferret, and it answers", async ({ page, block, init, run, editor }) => {
  const home = mkdtempSync(join(tmpdir(), "chimera-editor-settings-"));
  onTestFinished(() => removeHome(home));
  const text = readFileSync(join(repositoryRoot, "docs", page), "utf8");
  const settings = new RegExp(`\`\`\`${block}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1];
  for (const folder of ["bin", "work"]) mkdirSync(join(home, folder));
  symlinkSync(join(repositoryRoot, "apps", "chimera", "dist", "cli.js"), join(home, "bin", "chimera"));
  writeFileSync(join(home, init), settings ?? "");
  writeFileSync(join(home, "run"), run);
  writeFileSync(join(home, "script.json"), JSON.stringify(script));
  const env = {
    PATH: `${join(home, "bin")}${delimiter}${process.env["PATH"]}`,
    HOME: home,
    FERRET_MODEL: `scripted:${join(home, "script.json")}`,
  };
  const [command = "", ...args] = editor;
  const { stdout } = await promisify(execFile)(command, args, { cwd: home, env, timeout: 60_000 });
  expect(JSON.parse(stdout)).toEqual({ stop: "end_turn", text: SAID });
});
