// Preloaded into a program: notes each file that it opens, each script that it loads and each text that it writes, in order, a line
// each, in the file that TRACE_START names.
//
// Scripts come from the inspector, which sees both kinds of modules; everything else from the public functions of fs.
const fs = require("node:fs");
const { Session } = require("node:inspector");
const { syncBuiltinESMExports } = require("node:module");
const { Duplex, Writable } = require("node:stream");
const { fileURLToPath } = require("node:url");

const notes = fs.openSync(process.env.TRACE_START, "a");
const { writeSync } = fs;
const note = (kind, what) => writeSync(notes, `${JSON.stringify({ kind, what })}\n`);

const OPENING =
  /^(open|opendir|readdir|readFile|writeFile|appendFile|copyFile|createReadStream|createWriteStream)(Sync)?$/;

/** Calls of a function by path are noted; those by descriptor opened nothing. */
function watch(functions) {
  for (const name of Object.keys(functions).filter((key) => OPENING.test(key))) {
    const real = functions[name];
    functions[name] = function (path, ...rest) {
      if (typeof path === "string" || Buffer.isBuffer(path)) note("opened", String(path));
      else if (path instanceof URL) note("opened", fileURLToPath(path));
      return real.call(this, path, ...rest);
    };
  }
}

watch(fs);
watch(fs.promises);
syncBuiltinESMExports();

const inspector = new Session();
inspector.connect();
inspector.on("Debugger.scriptParsed", ({ params: { url } }) => {
  if (url.startsWith("file:") && url !== `file://${__filename}`) note("loaded", fileURLToPath(url));
});
inspector.post("Debugger.enable");

// A duplex stream, which a pipe is, has a copy of the method.
for (const { prototype } of [Writable, Duplex]) {
  const { write } = prototype;
  prototype.write = function (text, ...rest) {
    if (this.fd === 1 || this.fd === 2) note("wrote", String(text));
    return write.call(this, text, ...rest);
  };
}
