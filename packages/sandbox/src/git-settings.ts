/** Sections and keys that a fresh clone has, or that change nothing but what git prints: none runs a program or leads to other settings. */
const HARMLESS: readonly RegExp[] = [
  /^core\.(abbrev|autocrlf|bare|compression|eol|filemode|ignorecase|logallrefupdates|precomposeunicode|protecthfs|protectntfs)$/,
  /^core\.(quotepath|repositoryformatversion|safecrlf|sharedrepository|sparsecheckout|sparsecheckoutcone|symlinks|worktree)$/,
  /^(branch\..*\.(description|merge|rebase|remote|pushremote|vscode-merge-base)|remote\..*\.(fetch|push|tagopt|promisor|partialclonefilter))$/,
  /^(user\.(name|email|signingkey)|init\.defaultbranch|pull\.(ff|rebase)|push\.(default|autosetupremote)|fetch\.prune)$/,
  /^(extensions\.(objectformat|partialclone|refstorage|worktreeconfig)|gc\.auto|advice\.[a-z]+|color\.[a-z.]+)$/,
  /^(submodule\..*\.(active|url)|submodule\.active|remote\..*\.(url|pushurl))$/,
];

/** A transport named by an address runs the program of that name: `ext::sh -c …`. Git takes quotes out wherever they stand. */
const RUNS_TRANSPORT = /^[a-z0-9+.-]+::/i;

/** As git writes them: one header or one setting a line. Nothing cleverer is understood, and what is not understood counts. */
const HEADER = /^\[([a-z0-9.-]+)(?: "([^"\\\]]*)")?\]$/i;
const SETTING = /^([a-z][a-z0-9-]*)(?:\s*=\s*(.*))?$/i;

/** The lines of a git configuration that could make git run a program or read other settings; those it cannot read among them. */
export function suspectSettings(text: string): string[] {
  let section = "";
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => {
      if (line === "" || line.startsWith("#") || line.startsWith(";")) return false;
      const [, name, part] = HEADER.exec(line) ?? [];
      if (name !== undefined) {
        section = part === undefined ? name.toLowerCase() : `${name.toLowerCase()}.${part}`;
        return false;
      }
      const [, key = "", value = ""] = SETTING.exec(line) ?? [];
      const setting = `${section}.${key.toLowerCase()}`;
      return (
        value.endsWith("\\") ||
        RUNS_TRANSPORT.test(value.replaceAll('"', "")) ||
        !HARMLESS.some((known) => known.test(setting))
      );
    });
}
