/** Paths that are secret by their name, anywhere. */
export const SECRET =
  `.env .env.local .env.staging .env.production.local .ENV .env~ .env.bak .envrc config/prod.env id_rsa id_ed25519
  keys/id_ecdsa.old deploy_rsa ssh_host_ed25519_key server.pem server.key SERVER.KEY release.p12 AuthKey.p8 app.jks vault.kdbx
  client.ovpn .netrc .npmrc .pypirc .pgpass .git-credentials .htpasswd .vault-token .ssh/config home/.aws/config .gnupg/pubring.kbx
  .kube/config .docker/config.json .cargo/credentials.toml .config/gh/hosts.yml .config/gcloud/access_tokens.db .git/config
  credentials credentials.json secrets.yaml secrets.py secrets/prod.yaml .secrets/db tokens.json token passwords.txt service_account.json
  service-account-prod.json client_secret_123.json terraform.tfstate terraform.tfstate.backup prod.auto.tfvars .dev.vars
  .netrc~ .s3cfg deploy/kubeconfig .bash_history .chimera/run/x
  HEAD:.env`.split(/\s+/);

/** Ordinary files whose names only resemble secret ones. */
export const ORDINARY =
  `.env.example .env.sample .env.template .env.d.ts example.env env.ts src/env/index.ts public.key.md src/key.ts keys.ts
  keys/index.ts id_card.rs id_rsa.pub id_rsa_parser.go tokens.ts tokens.py src/tokens/button.json tokenizer.json passwords.html
  src/secrets/index.ts src/credentials/provider.py secrets.md credentials.go src/shadow/root.css chat_history/index.json monkey.json
  turnkey .docker/Dockerfile .claude/settings.json .codex/config.toml .azure/pipelines.yml .gemini/settings.json snap/app.yaml
  environment.json terraform.tfvars.example .gitconfig README.md`.split(/\s+/);
