import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { configurationFiles } from './generate/configurationFiles.ts';
import { formatted, stalePaths, type GeneratedFile } from './generate/generatedFile.ts';
import { factsPage } from './generate/factsPage.ts';
import { metricsPage } from './generate/metricsPage.ts';
import { monitoringFiles } from '../monitoring/generated.ts';

/** All generated files of the repository. Paths are relative to the root. */
export const GENERATED_FILES: readonly GeneratedFile[] = [
  ...configurationFiles,
  { path: 'docs/facts.md', content: () => formatted('docs/facts.md', factsPage()) },
  { path: 'docs/metrics.md', content: () => formatted('docs/metrics.md', metricsPage()) },
  ...monitoringFiles().map(({ path, content }) => ({ path, content: () => Promise.resolve(content) })),
];

const ROOT = new URL('../', import.meta.url);

async function main(checkOnly: boolean): Promise<number> {
  const stale = await stalePaths(GENERATED_FILES, (path) => readFile(new URL(path, ROOT), 'utf8'));
  if (checkOnly) {
    for (const path of stale) console.error(`${path} is stale: run "npm run generate" and commit it.`);
    return stale.length === 0 ? 0 : 1;
  }
  for (const file of GENERATED_FILES.filter(({ path }) => stale.includes(path))) {
    const place = new URL(file.path, ROOT);
    await mkdir(new URL('.', place), { recursive: true });
    await writeFile(place, await file.content());
    console.log(`${file.path} written.`);
  }
  return 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = await main(process.argv.includes('--check'));
}
