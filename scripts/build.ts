import { execFileSync } from 'node:child_process';
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const OUT = join(ROOT, 'dist');

/** Folders of one build, beside `dist` because a rename works within one file system only. The number is its process. */
const TEMPORARY = /^dist\.(\d+)\.(?:new|old)$/;
const NEW = join(ROOT, `dist.${process.pid}.new`);
const OLD = join(ROOT, `dist.${process.pid}.old`);

/** Software bill of materials, CycloneDX 1.6. */
const SBOM = 'sbom.cdx.json';

/** Some libraries are CommonJS and load parts of Node.js with `require`, which modules do not have. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** Makes `dist` in a temporary folder, and renames it at the end: a build that fails or is killed leaves the last program. */
async function main(): Promise<void> {
  await removeRemains();
  await mkdir(NEW);
  try {
    await makeProgram(NEW);
    await publish();
  } finally {
    await Promise.all([NEW, OLD].map((folder) => rm(folder, { recursive: true, force: true })));
  }
}

/** Removes temporary folders of builds that were killed. Those of builds that still run stay. */
async function removeRemains(): Promise<void> {
  const remains = (await readdir(ROOT)).filter((name) => {
    const builder = TEMPORARY.exec(name)?.[1];
    return builder !== undefined && (Number(builder) === process.pid || !isRunning(Number(builder)));
  });
  await Promise.all(remains.map((name) => rm(join(ROOT, name), { recursive: true, force: true })));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // Only a process that exists can be another user's.
    return hasCode(error, ['EPERM']);
  }
}

/** Renames the new program to `dist`. Another build may do so at the same time; the last one wins. */
async function publish(): Promise<void> {
  for (;;) {
    await rm(OLD, { recursive: true, force: true });
    try {
      await rename(OUT, OLD);
    } catch (error) {
      if (!hasCode(error, ['ENOENT'])) throw error;
    }
    try {
      await rename(NEW, OUT);
      return;
    } catch (error) {
      // The other build's program has come in between.
      if (!hasCode(error, ['ENOTEMPTY', 'EEXIST'])) throw error;
    }
  }
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

/**
 * Writes the program with its libraries into a few files of `folder`, because finding and reading hundreds of files takes most of
 * a start. What only one command needs is in files of its own. Stack traces keep their names.
 */
async function makeProgram(folder: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    // Without their folders: the program finds the worker beside itself.
    entryPoints: [
      { in: 'src/main.ts', out: 'main' },
      { in: 'src/web/authentication/passwordWorker.ts', out: 'passwordWorker' },
    ],
    outdir: folder,
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
  await copyFile(join(ROOT, 'simulator/nerdgraph/nerdgraph.graphql'), join(folder, 'nerdgraph.graphql'));
  // So does the exporter with its packs of queries.
  await cp(join(ROOT, 'packs'), join(folder, 'packs'), { recursive: true });
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES.txt'), await licences(Object.keys(metafile.inputs)));
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
