// Builds what the Python package carries: the stepper, its style sheet, the host script and that of still pictures, into ../tensorviz/widgets/static.
// The same sources give the same bytes; the first line of each file names the hash of all sources.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { minify } from "rolldown/utils";
import { minify as rewrite } from "terser";

const here = fileURLToPath(new URL(".", import.meta.url));
const target = join(here, "..", "tensorviz", "widgets", "static");
const check = process.argv.includes("--check");

/** Every file that decides the output, in one order, with its name. */
function sources(folder = "src") {
  return readdirSync(join(here, folder), { withFileTypes: true })
    .flatMap((entry) => (entry.isDirectory() ? sources(`${folder}/${entry.name}`) : [`${folder}/${entry.name}`]))
    .sort();
}

const hash = createHash("sha256");
for (const name of [...sources(), "build.mjs", "package-lock.json", "tsconfig.json"]) {
  hash
    .update(`${name}\n`)
    .update(readFileSync(join(here, name), "utf8").replaceAll("\r\n", "\n"))
    .update("\n");
}
const line = `/* tensorviz sources ${hash.digest("hex").slice(0, 12)} */\n`;

const common = {
  bundle: true,
  minify: true,
  write: false,
  target: "es2022",
  charset: "ascii",
  legalComments: "none",
  absWorkingDir: here,
};
/** Shorter code, and names given by how often they stand together: packed, and that is how a notebook carries it, the stepper is 5 % smaller than esbuild alone makes it. */
async function shorter(name, text) {
  const module = name === "stepper.js";
  const rewritten = await rewrite(text, {
    module,
    ecma: 2022,
    compress: { passes: 4, inline: 1, pure_getters: true, unsafe_arrows: true, unsafe_methods: true },
    mangle: false,
  });
  const { code, errors } = await minify(name, rewritten.code, {
    module,
    compress: { target: common.target },
    mangle: { toplevel: true },
  });
  if (errors.length) throw new Error(errors.map((error) => error.message).join("\n"));
  return code;
}

/** The minifier leaves the spaces of custom properties, of which a sheet of tokens is full. */
const closer = (_, text) => text.replace(/(--tv-[a-z0-9]+:|[,(]) | (?=[)}])/g, "$1");

// The scripts of the host and of still pictures stand in notebooks as they are, so that they stay within ASCII.
const outputs = [
  ["stepper.js", { ...common, entryPoints: ["src/index.ts"], format: "esm", charset: "utf8" }, shorter],
  ["host.js", { ...common, entryPoints: ["src/host.ts"], format: "iife" }, shorter],
  ["drawing.js", { ...common, entryPoints: ["src/drawing.ts"], format: "iife" }],
  ["stepper.css", { ...common, entryPoints: ["src/index.css"] }, closer],
];
mkdirSync(target, { recursive: true });
let stale = false;
for (const [name, options, further = (_, text) => text] of outputs) {
  const { outputFiles } = await build(options);
  const text = line + (await further(name, outputFiles[0].text));
  const path = join(target, name);
  if (check) {
    let old = "";
    try {
      old = readFileSync(path, "utf8");
    } catch {
      // not built yet
    }
    if (old !== text) {
      console.error(`${name} is not what its sources build; run npm run build`);
      stale = true;
    }
  } else writeFileSync(path, text);
  console.log(`${name} ${Buffer.byteLength(text).toLocaleString("en-US")} bytes`);
}
process.exitCode = stale ? 1 : 0;
