#!/usr/bin/env node
// Packs the built VS Code extension into dist/vscode/chimera-vscode-<version>.vsix, the same bytes from the same sources.
//   npm run build && node tools/vscode/package.mjs
//   code --install-extension dist/vscode/chimera-vscode-<version>.vsix
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { zip } from "../../scripts/zed/archive.mjs";

const root = join(import.meta.dirname, "..", "..");
const app = join(root, "apps", "vscode");

/** Writes the package and returns its path. */
export function packageExtension(folder = join(root, "dist", "vscode")) {
  const {
    scripts: _scripts,
    devDependencies: _dev,
    private: _private,
    type: _type,
    ...manifest
  } = readJson("package.json");
  const read = (path) => ({ path: `extension/${path}`, bytes: readFileSync(join(app, path)) });
  const text = (path, content) => ({ path, bytes: Buffer.from(content) });
  const files = [
    text("[Content_Types].xml", CONTENT_TYPES),
    text("extension.vsixmanifest", manifestOf(manifest)),
    text("extension/package.json", `${JSON.stringify(manifest, null, 2)}\n`),
    { path: "extension/LICENSE.txt", bytes: readFileSync(join(root, "LICENSE")) },
    read("README.md"),
    read("dist/extension.cjs"),
    ...readdirSync(join(app, "media")).map((name) => read(`media/${name}`)),
  ];
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${manifest.name}-${manifest.version}.vsix`);
  writeFileSync(path, zip(files));
  return path;
}

// --- internal ---

function readJson(path) {
  return JSON.parse(readFileSync(join(app, path), "utf8"));
}

const TYPES = {
  ".json": "application/json",
  ".vsixmanifest": "text/xml",
  ".cjs": "application/javascript",
  ".js": "application/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".md": "text/markdown",
  ".txt": "text/plain",
};

const CONTENT_TYPES = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
${Object.entries(TYPES)
  .map(([extension, type]) => `<Default Extension="${extension}" ContentType="${type}"/>`)
  .join("\n")}
</Types>
`;

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

function manifestOf({ name, publisher, version, displayName, description, keywords, categories, engines, repository }) {
  const source = repository.url.replace(/^git\+/, "");
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id="${name}" Version="${version}" Publisher="${publisher}"/>
<DisplayName>${escaped(displayName)}</DisplayName>
<Description xml:space="preserve">${escaped(description)}</Description>
<Tags>${escaped(keywords.join(","))}</Tags>
<Categories>${escaped(categories.join(","))}</Categories>
<GalleryFlags>Public</GalleryFlags>
<Properties>
<Property Id="Microsoft.VisualStudio.Code.Engine" Value="${escaped(engines.vscode)}"/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
<Property Id="Microsoft.VisualStudio.Services.Links.Source" Value="${escaped(source)}"/>
</Properties>
<License>extension/LICENSE.txt</License>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
</Assets>
</PackageManifest>
`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) console.log(packageExtension());
