import { execFileSync } from 'node:child_process';
import { copyFile, cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import { build, type Plugin } from 'esbuild';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const OUT = join(ROOT, 'dist');

/** Software bill of materials, CycloneDX 1.6. */
const SBOM = 'sbom.cdx.json';

/** Some libraries are CommonJS and load parts of Node.js with `require`, which modules do not have. */
const REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/**
 * Files of libraries that are replaced, because what the program does not use of them would slow each start: calls need a part of
 * undici, the pages a part of express, and the exporter's own metrics a part of prom-client.
 */
const REPLACED: Readonly<Record<string, string>> = {
  'undici/index.js': `
    import api from './lib/api/index.js';
    import Dispatcher from './lib/dispatcher/dispatcher.js';
    Object.assign(Dispatcher.prototype, api);
    export { default as Agent } from './lib/dispatcher/agent.js';
    export { default as EnvHttpProxyAgent } from './lib/dispatcher/env-http-proxy-agent.js';
    export { default as Pool } from './lib/dispatcher/pool.js';
    export { default as DecoratorHandler } from './lib/handler/decorator-handler.js';`,
  // HTTP/2, which is not offered to servers.
  'undici/lib/dispatcher/client-h2.js': '',
  // Bodies of other kinds than texts.
  'undici/lib/web/fetch/body.js': '',
  'body-parser/index.js': '',
  // Files to send, and nested parameters: no page has them.
  'serve-static/index.js': '',
  'send/index.js': '',
  'qs/lib/index.js': '',
  // The types that a redirect is written in.
  'mime-db/index.js': `
    module.exports = {
      'text/html': { source: 'iana', extensions: ['html'] },
      'text/plain': { source: 'iana', extensions: ['text'] },
    };`,
  'prom-client/index.js': `
    export { default as Counter } from './lib/counter.js';
    export { default as Gauge } from './lib/gauge.js';
    export { default as Histogram } from './lib/histogram.js';
    export { default as Registry } from './lib/registry.js';
    export { default as collectDefaultMetrics } from './lib/defaultMetrics.js';`,
  // Traces, for exemplars.
  '@opentelemetry/api/dist/index.cjs': '',
};

const USED_PARTS: Plugin = {
  name: 'used-parts',
  setup: (bundle) => {
    const unseen = new Set(Object.keys(REPLACED));
    bundle.onLoad({ filter: /node_modules/ }, ({ path }) => {
      const name = relative(join(ROOT, 'node_modules'), path);
      unseen.delete(name);
      const contents = REPLACED[name];
      return contents === undefined ? undefined : { contents };
    });
    bundle.onEnd(() => {
      if (unseen.size > 0)
        throw new Error(`the libraries have no ${[...unseen].join(', ')}: adapt REPLACED in scripts/build.ts`);
    });
  },
};

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
      USED_PARTS,
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
