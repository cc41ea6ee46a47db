/** Shows the page to a person: prints its address, with a sign-in code when requests need a token, and opens a browser. */
import { execFile } from "node:child_process";

export async function showPage(options: {
  /** The server's URL. */
  readonly url: string;
  readonly code: string | undefined;
  readonly opens: boolean;
  readonly program: string;
  readonly process: NodeJS.Process;
}): Promise<void> {
  const { url, code, opens, program, process } = options;
  const address = pageAddress(url, code);
  const say = (text: string) => process.stderr.write(`[${program}] ${text}\n`);
  if (code !== undefined) say(`the page, with a code that works once and within an hour: ${address}`);
  if (opens && !(await openBrowser(address, process))) say(`no browser could be started: open ${address}`);
}

// --- internal ---

/** The page's address. For a server on every interface, it names loopback. */
function pageAddress(url: string, code: string | undefined): string {
  const address = new URL(url);
  if (address.hostname === "0.0.0.0") address.hostname = "127.0.0.1";
  if (address.hostname === "[::]") address.hostname = "[::1]";
  address.hash = code === undefined ? "" : `code=${code}`;
  return address.href;
}

/** False when no browser could be started. */
function openBrowser(address: string, { platform, env }: NodeJS.Process): Promise<boolean> {
  const [command, ...args] = OPENERS[platform] ?? ELSEWHERE;
  return new Promise((resolve) => {
    execFile(command, [...args, address], { env, timeout: 10_000, windowsHide: true }, (error) => resolve(!error));
  });
}

type Opener = readonly [string, ...string[]];

const OPENERS: Readonly<Record<string, Opener>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** The shell exits at once, so that a browser which stays in the foreground is not a child of this program and outlives it. */
const ELSEWHERE: Opener = [
  "sh",
  "-c",
  'command -v xdg-open >/dev/null || exit 1; xdg-open "$1" >/dev/null 2>&1 </dev/null &',
  "sh",
];
