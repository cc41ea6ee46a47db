/**
 * `@chimera/sandbox/secrets`: the only table of places with secrets. Tools ask before they read one and skip it in a search, the command
 * classifier asks about it, and the sandbox hides those in the home directory.
 */
import { homedir } from "node:os";
import { sep } from "node:path";
import { realPath } from "./confine/paths.js";
import { words } from "./words.js";

export { isInside } from "./confine/paths.js";

/** Secret anywhere, and hidden from commands in the home directory even while missing. Directories end with a slash. */
export const SECRET_PLACES = words(`
  .ssh/ .gnupg/ .aws/ .kube/ .netrc .npmrc .pypirc .pgpass .my.cnf .git-credentials .password-store/ .vault-token
  .docker/config.json .cargo/credentials .cargo/credentials.toml .config/git/credentials .config/gh/ .config/gcloud/
`);

/** Secret only in the home directory. Elsewhere these names belong to projects, or mean nothing. */
export const HOME_SECRETS = [
  ...["Google/Chrome/", "Firefox/", "Chromium/", "BraveSoftware/"].map((name) => `Library/Application Support/${name}`),
  ...words(`
  .docker/ .azure/ .terraform.d/ .terraformrc .oci/ .aliyun/ .bluemix/ .pulumi/credentials.json .fly/ .vercel/ .netlify/ .wrangler/
  .config/.wrangler/ .config/doctl/ .config/hcloud/ .config/scw/ .config/linode-cli .config/configstore/ .config/stripe/ .config/ngrok/
  .databrickscfg .snowsql/ .snowflake/ .boto .s3cfg .gsutil/ .passwd-s3fs .config/rclone/ .config/helm/ .config/sops/ .config/age/ .age/
  .config/hub .config/glab-cli/ .config/github-copilot/ .config/op/ .config/1Password/ .config/Bitwarden/ .config/keepassxc/
  .claude/ .claude.json .codex/ .gemini/ .copilot/ .config/anthropic/ .config/openai/ .config/aider/ .local/share/opencode/auth.json
  .cache/huggingface/token .huggingface/ .kaggle/ .sentryclirc .gem/credentials .bundle/config .yarnrc .yarnrc.yml .m2/settings.xml
  .m2/settings-security.xml .gradle/gradle.properties .nuget/NuGet/NuGet.Config .config/NuGet/NuGet.Config .config/composer/auth.json
  .composer/auth.json .hex/hex.config .dockercfg .mylogin.cnf .cert/ .pki/ .electrum/ .bitcoin/ .ethereum/keystore/ .config/solana/
  .bash_history .zsh_history .zhistory .histfile .node_repl_history .python_history .psql_history .mysql_history .sqlite_history
  .rediscli_history .irb_history .local/share/fish/fish_history .lesshst .viminfo .local/state/nvim/shada/
  .mozilla/ .thunderbird/ .config/chromium/ .config/google-chrome/ .config/BraveSoftware/ .config/microsoft-edge/ .config/vivaldi/
  .config/opera/ .config/Slack/ .config/discord/ .config/Signal/ .config/Code/User/globalStorage/ .config/Cursor/User/globalStorage/
  .local/share/keyrings/ .local/share/kwalletd/ .local/share/gnome-keyring/ .var/app/ snap/firefox/ snap/chromium/ snap/brave/ Library/Keychains/ Library/Cookies/
  Library/Mail/ Library/Messages/ Library/Safari/
`),
];

export const SYSTEM_SECRETS = words(`
  /etc/shadow /etc/shadow- /etc/ssl/private/ /etc/ssh/ /etc/krb5.keytab /etc/kubernetes/ /etc/rancher/ /etc/wireguard/
  /etc/NetworkManager/system-connections/
`);

/**
 * True for a path with a name that is secret anywhere. Does not access the file system.
 *
 * @example
 * isSecretName("config/.env"); // true
 */
export function isSecretName(path: string): boolean {
  const steps = path.toLowerCase().split(/[/\\:=]/);
  const last = steps.at(-1) || (steps.at(-2) ?? "");
  if (steps.some((step) => STEPS.some((pattern) => pattern.test(step))) || PLACE.test(steps.join("/"))) return true;
  if (SOURCE.test(last)) return false;
  if (FILES.some((pattern) => pattern.test(last))) return true;
  return !SCRIPT.test(last) && steps.some((step) => /^\.?(?:secrets?|credentials?)$/.test(step));
}

/**
 * True for an absolute path that is secret by its name or by its place in the home directory.
 *
 * @example
 * isSecret(join(homedir(), ".ssh/id_ed25519")); // true
 */
export function isSecret(path: string, name = path, home = realHome()): boolean {
  if (isSecretName(name)) return true;
  if (!path.startsWith(home + sep)) return false;
  const below = path.slice(home.length + 1).replaceAll("\\", "/");
  return HOME_SECRETS.some(
    (place) => below === place.replace(/\/$/, "") || (place.endsWith("/") && below.startsWith(place)),
  );
}

// --- internal ---

let known: string | undefined;

/** The home directory with its links resolved, because compared paths are resolved and the home may be a link. */
function realHome(): string {
  known ??= realPath(homedir()) ?? homedir();
  return known;
}

/** Match any name in a path, in lower case. */
const STEPS: readonly RegExp[] = [
  /^\.env(?!\.(?:example|sample|template|dist|defaults?|schema|d\.ts)$)(?:rc)?(?:[.~_-].*)?$/,
  /^\.(?:htpasswd|chimera|\w+_history|(?:boto|dev\.vars|dockercfg|netrc|pgpass|s3cfg)(?:[.~_-].*)?)$/,
];

/** Match the last name of a path, unless it is source code. */
const FILES: readonly RegExp[] = [
  /^(?!(?:example|sample|template|default)s?\.)[\w-]+\.env$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:[._-].*)?$/,
  /^(?:ssh_host_.+_key|.+_(?:rsa|dsa|ecdsa|ed25519))$/,
  /^(?:credentials?|secrets?|service[-_]account|client_secrets?)(?:\..*)?$/,
  /^(?:service[-_]account|client_secret)[-_].*\.json$/,
  /^(?:tokens?|passwords?)(?!\.(?:pyi?|h|hpp|php|html?)$)(?:\..*)?$/,
  /\.(?:pem|key|p12|pfx|p8|jks|keystore|kdbx?|asc|gpg|ppk|ovpn|keytab|agekey)$/,
  /\.tf(?:state|vars)(?!\.(?:example|sample|template)$)(?:\..*)?$/,
  /^(?:g?shadow-?|sudoers|environ|authorized_keys|known_hosts|kubeconfig)$/,
];

const SOURCE = /\.(?:[cm]?[jt]sx?|cc?|cpp|cs|css|go|java|kt|less|mdx?|pub|rb|rs|scala|scss|svelte|swift|vue)$/;
/** Endings of files that may be code. A secret file name counts for them, but a directory named `secrets` does not. */
const SCRIPT = /\.(?:pyi?|h|hpp|php|html?|sh|sql)$/;

const PLACE = new RegExp(
  `(?:^|/)(?:${[...SECRET_PLACES, ".git/config", ".git/credentials"]
    .map((place) => place.toLowerCase().replace(/\/$/, "").replaceAll(".", "\\."))
    .join("|")})(?:/|$)`,
);
