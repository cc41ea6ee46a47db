#!/usr/bin/env bash
# Builds the archives that Zed's extension downloads, into dist/zed, and writes their addresses and hashes into extension.toml.
# Run it after the versions were raised; attach what is in dist/zed to the release of that version.
#   bash scripts/zed/build_archives.sh            # build, and write extension.toml
#   bash scripts/zed/build_archives.sh --check    # build, and fail when extension.toml does not describe what was built
set -euo pipefail
cd "$(dirname "$0")/../.."
npm run --silent build
exec node scripts/zed/build-archives.mjs "$@"
