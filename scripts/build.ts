import { execFileSync } from 'node:child_process';
import { copyFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const OUT = join(ROOT, 'dist');

/** Temporary folders of a build, with its process id. They are beside `dist`, because renames need one file system. */
const TEMPORARY = /^dist\.(\d+)\.(?:new|old)$/;
const NEW = join(ROOT, `dist.${process.pid}.new`);
const OLD = join(ROOT, `dist.${process.pid}.old`);

/** Software bill of materials, CycloneDX 1.6. */
const SBOM = 'sbom.cdx.json';

/** Some libraries are CommonJS and load parts of Node.js with `require`, which modules do not have. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** Builds in a temporary folder, and renames it to `dist` at the end. A failed build keeps the last program. */
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

/** Removes temporary folders of killed builds. Keeps folders of running builds. */
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
    // EPERM: the process exists, and belongs to another user.
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
      // Another build has published its program in between.
      if (!hasCode(error, ['ENOTEMPTY', 'EEXIST'])) throw error;
    }
  }
}

function hasCode(error: unknown, codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

/**
 * Bundles the program with its libraries into a few files, because reading hundreds of files takes most of a start.
 * Code that only one command needs is in separate files. Stack traces keep their names.
 */
async function makeProgram(folder: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    // Drops the folders, because the program looks for the worker beside itself.
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
    define: { BUILT_REVISION: JSON.stringify(findRevision()) },
    minifyWhitespace: true,
    lineLimit: 160,
    legalComments: 'none',
    metafile: true,
    // Scanners find no node_modules beside the program, so this lists the bundled libraries. An invalid list fails.
    plugins: [
      cyclonedxEsbuildPlugin({ outputFile: SBOM, outputReproducible: true, validate: true, logLevel: 'silent' }),
    ],
    logLevel: 'warning',
  });
  // The simulator reads its schema from the folder of its own file.
  await copyFile(join(ROOT, 'simulator/nerdgraph/nerdgraph.graphql'), join(folder, 'nerdgraph.graphql'));
  // The exporter reads its packs of queries from there, too.
  await cp(join(ROOT, 'packs'), join(folder, 'packs'), { recursive: true });
  await writeFile(join(folder, 'THIRD-PARTY-LICENSES.txt'), await readLicences(Object.keys(metafile.inputs)));
}

/** Returns the commit: REVISION, or else the answer of git. An archive of the sources has no commit. */
function findRevision(): string {
  const fromEnvironment = process.env['REVISION'];
  if (fromEnvironment !== undefined && fromEnvironment !== '') return fromEnvironment;
  try {
    const args = ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'];
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
}

/** Joins the licences of the libraries in a list of files. Whoever distributes `dist` must include them. */
async function readLicences(files: readonly string[]): Promise<string> {
  const folders = new Set(files.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const texts = await Promise.all([...folders].sort().map((folder) => readLicence(join(ROOT, folder))));
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

async function readLicence(folder: string): Promise<string> {
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
