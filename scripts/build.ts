import { execFileSync } from 'node:child_process';
import { copyFile, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const OUT = join(ROOT, 'dist');

/** Software bill of materials, CycloneDX 1.6. */
const SBOM = 'sbom.cdx.json';

/** Some libraries are CommonJS and load parts of Node.js with `require`, which modules do not have. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/**
 * Makes `dist`: the program with its libraries in a few files, because finding and reading hundreds of them takes most of a
 * start. What only one command needs is in files of its own. Stack traces keep their names.
 */
async function main(): Promise<void> {
  await rm(OUT, { recursive: true, force: true });
  const { metafile } = await build({
    absWorkingDir: ROOT,
    // Without their folders: the program finds the worker beside itself.
    entryPoints: [
      { in: 'src/main.ts', out: 'main' },
      { in: 'src/web/authentication/passwordWorker.ts', out: 'passwordWorker' },
    ],
    outdir: OUT,
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    banner: { js: REQUIRE },
    define: { BUILT_REVISION: JSON.stringify(revision()) },
    minifyWhitespace: true,
    lineLimit: 160,
    legalComments: 'none',
    metafile: true,
    // A scanner finds no node_modules beside the program: this lists what is built in (CycloneDX), valid or there is no build.
    plugins: [
      cyclonedxEsbuildPlugin({ outputFile: SBOM, outputReproducible: true, validate: true, logLevel: 'silent' }),
    ],
    logLevel: 'warning',
  });
  // The simulator reads its schema from beside the file that it is in.
  await copyFile(join(ROOT, 'simulator/nerdgraph/nerdgraph.graphql'), join(OUT, 'nerdgraph.graphql'));
  // So does the exporter with its packs of queries.
  await cp(join(ROOT, 'packs'), join(OUT, 'packs'), { recursive: true });
  await writeFile(join(OUT, 'THIRD-PARTY-LICENSES.txt'), await licences(Object.keys(metafile.inputs)));
}

/** The commit that is built: REVISION, else what git says of this folder; an archive of the sources has none. */
function revision(): string {
  const given = process.env['REVISION'];
  if (given !== undefined && given !== '') return given;
  try {
    const args = ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'];
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
}

/** The licences of the libraries that the given files are from: whoever passes `dist` on passes them on, too. */
async function licences(files: readonly string[]): Promise<string> {
  const folders = new Set(files.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const texts = await Promise.all([...folders].sort().map((folder) => licence(join(ROOT, folder))));
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

async function licence(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : await readFile(join(folder, file), 'utf8');
  return `${name} ${version} (${license ?? 'see below'})\n\n${text}`;
}

await main();
