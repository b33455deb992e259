import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

/** Makes objects that live on until others have taken their place, as the values of refreshes do, and says what V8 took. */
const WORK = `
const kept = [];
for (let refresh = 0; refresh < 40; refresh += 1) {
  for (let index = 0; index < 20_000; index += 1) kept[index] = { values: [refresh + index / 7, String(index)] };
  await new Promise(setImmediate);
}
const { getHeapSpaceStatistics } = await import('node:v8');
console.log(getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space').space_size);
`;

/** The memory for new objects in bytes, after that work in a process of its own. */
async function youngSpaceAfter(script: string): Promise<number> {
  const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: process.cwd() });
  return Number(stdout);
}

describe('the memory for new objects', () => {
  it('stops growing early, where V8 would take 33 MB', async () => {
    const [limited, unlimited] = await Promise.all([
      youngSpaceAfter(`(await import('./src/cli/garbage.ts')).collectGarbageEarly();${WORK}`),
      youngSpaceAfter(WORK),
    ]);
    expect(unlimited).toBeGreaterThan(30_000_000);
    expect(limited).toBeLessThan(20_000_000);
  });
});
