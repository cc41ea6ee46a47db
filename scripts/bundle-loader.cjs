// Part of every bundled program: runs its other files. What V8 makes of a file is kept beside it, in `compiled/`, where nobody can write
// who could not change the file itself; the next start reads that instead of compiling, and opens a session in three quarters of the time.
//
// What was kept is used when its checksum fits the file, this V8 and itself, since V8 ends the process over damaged data. V8 looks at the
// rest, its flags above all, and compiles what does not fit. A directory that cannot be written, or is another user's, is left as it is. A
// file with an import() is left to Node; the bundler sees to it that such a file asks for no other.
const {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} = require("node:fs");
const { basename, dirname, join } = require("node:path");
const { Script } = require("node:vm");
const { crc32 } = require("node:zlib");

/** Code that was kept has no counters for coverage. */
const IS_KEPT = !process.env.NODE_V8_COVERAGE;
/** By then a program has shown what it needs, and V8 has not yet dropped what it no longer needs. */
const KEPT_AFTER_MS = 30_000;
/** No program writes a file for as long. */
const LONGEST_WRITE_MS = 60_000;
/** The checksum, in as many bytes as V8 aligns its data to. */
const HEAD = 8;
/** V8 itself tells neither machines nor versions with other patches apart. */
const MAKER = `${process.versions.v8} ${process.arch}`;
const [BEFORE, AFTER] = ["(function (exports, require, module, __filename, __dirname) {", "\n})"];

let loader;

/** The `require` of the program's files: those of its directory are run here, everything else is left to the `outer` one. */
module.exports = (outer, directory) => {
  loader ??= createLoader(outer, directory);
  return loader;
};

function createLoader(outer, directory) {
  const modules = new Map();
  /** Scripts that had to be compiled. */
  const fresh = new Map();

  function load(name) {
    if (!name.startsWith("./")) return outer(name);
    const known = modules.get(name);
    if (known) return known.exports;
    const filename = join(directory, name);
    const source = readFileSync(filename);
    // Node 20 cannot run an import() in code that was kept.
    if (source.includes("import(")) return outer(name);
    const file = { exports: {} };
    modules.set(name, file);
    try {
      compile(filename, source).runInThisContext().call(file.exports, file.exports, load, file, filename, directory);
    } catch (error) {
      modules.delete(name);
      throw error;
    }
    return file.exports;
  }

  function compile(filename, source) {
    const kept = IS_KEPT ? readKept(filename, source) : undefined;
    const script = new Script(BEFORE + source.toString() + AFTER, {
      filename,
      columnOffset: -BEFORE.length,
      ...(kept && { cachedData: kept }),
    });
    if (!IS_KEPT || (kept && !script.cachedDataRejected)) return script;
    if (fresh.size === 0) {
      process.once("exit", keep);
      setTimeout(keep, KEPT_AFTER_MS).unref();
    }
    fresh.set(filename, { script, source });
    return script;
  }

  function keep() {
    process.off("exit", keep);
    for (const [filename, { script, source }] of fresh) {
      fresh.delete(filename);
      try {
        writeKept(filename, script, source);
      } catch {
        // Every start compiles then, as the first one did.
      }
    }
  }

  return load;
}

/** `dist/compiled/engine.bin` for `dist/engine.js`. */
const keptPath = (filename) => join(dirname(filename), "compiled", `${basename(filename, ".js")}.bin`);

function readKept(filename, source) {
  try {
    const path = keptPath(filename);
    // A pipe or a device would be read without end.
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined;
    const bytes = readFileSync(path);
    const data = bytes.subarray(HEAD);
    return bytes.readUInt32LE() === checksum(source, data) ? data : undefined;
  } catch {
    return undefined;
  }
}

/** Programs that end at once write the same file; readers find one of them, whole. */
function writeKept(filename, script, source) {
  // The owner of the program could not remove what root leaves there.
  if (process.geteuid && process.geteuid() !== statSync(dirname(filename)).uid) return;
  const path = keptPath(filename);
  const unfinished = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  removeUnfinished(dirname(path));
  // V8 takes milliseconds to hand out its code, so it is asked only where a file can be written.
  const file = openSync(unfinished, "w", 0o644);
  try {
    const data = script.createCachedData();
    const head = Buffer.alloc(HEAD);
    head.writeUInt32LE(checksum(source, data));
    writeFileSync(file, Buffer.concat([head, data]));
    renameSync(unfinished, path);
  } catch {
    rmSync(unfinished, { force: true });
  } finally {
    closeSync(file);
  }
}

/** Of programs that were killed. */
function removeUnfinished(directory) {
  for (const name of readdirSync(directory).filter((entry) => /\.bin\.\d+$/.test(entry))) {
    const path = join(directory, name);
    const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > LONGEST_WRITE_MS) rmSync(path, { force: true });
  }
}

const checksum = (source, data) => crc32(data, crc32(source, crc32(MAKER)));
