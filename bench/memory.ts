import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript';
import { PROJECT } from './processes.ts';

/** Peak memory of the client library in megabytes: a refresh of so many series, two compressed answers, and once more. */
export async function libraryPeakMegabytes(series: number): Promise<number> {
  const source = await readFile(new URL('memoryCase.ts', import.meta.url), 'utf8');
  const { outputText } = transpileModule(source, {
    compilerOptions: { module: ModuleKind.ESNext, target: ScriptTarget.ES2023 },
  });
  const args = ['--input-type=module', '--eval', outputText, String(series)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: PROJECT });
  return Number(stdout);
}
