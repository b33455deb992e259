import { EventEmitter } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { compareInWorkers } from '../../../src/web/authentication/passwords.ts';

/** A thread that runs this text when a password comes; it finds `password` and `hash`, its port in `port`. */
function threadThat(text: string): URL {
  const script =
    `import { parentPort as port } from 'node:worker_threads';` +
    `let asked = 0;` +
    `port.on('message', ([password, hash]) => { asked += 1; ${text} });`;
  return new URL(`data:text/javascript,${encodeURIComponent(script)}`);
}

describe('the thread that compares passwords', () => {
  test('gives each password its own verdict, in whatever order they come back', async () => {
    const compare = compareInWorkers(
      threadThat(`
        const post = () => port.postMessage(password === hash);
        if (password === 'a') setTimeout(post, 20); else post();
      `),
    );
    const verdicts = await Promise.all(['a', 'b', 'c', 'd'].map((password) => compare(password, 'b', 4)));
    expect(verdicts).toEqual([false, true, false, false]);
  });

  test('is used again for the next password', async () => {
    const compare = compareInWorkers(threadThat('port.postMessage(asked === Number(password));'));
    for (const asked of ['1', '2', '3']) expect(await compare(asked, '', 4)).toBe(true);
  });

  test.each([
    ['ends', 'process.exit(0)', 'the thread that compares passwords has ended'],
    ['throws', `throw new Error('no memory for this')`, 'no memory for this'],
  ])('fails what it compares when it %s, and another compares the next password', async (_, does, message) => {
    const compare = compareInWorkers(
      threadThat(`if (password === 'fail') ${does}; port.postMessage(asked === Number(password));`),
    );
    expect(await compare('1', '', 4)).toBe(true);
    await expect(compare('fail', '', 4)).rejects.toThrow(message);
    expect(await compare('1', '', 4)).toBe(true);
  });

  test('makes a refusal cost as much as the highest cost, and nothing more of a right password', async () => {
    // What the thread does of bcrypt, counted as 2 to the power of the cost.
    const compared: { readonly password: string; readonly cost: number }[] = [];
    vi.doMock('bcryptjs', () => ({
      default: {
        compareSync: (password: string, hash: string) => {
          compared.push({ password, cost: Number(hash.split('$')[2]) });
          return password === 'right';
        },
      },
    }));
    const port = new EventEmitter();
    const results: unknown[] = [];
    Object.assign(port, { postMessage: (result: unknown) => results.push(result) });
    vi.doMock('node:worker_threads', () => ({ parentPort: port }));
    await import('../../../src/web/authentication/passwordWorker.ts');
    const workOf = (password: string, cost: number): number => {
      compared.length = 0;
      port.emit('message', [password, `$2y$${String(cost).padStart(2, '0')}$x`, 10]);
      return compared.reduce((sum, each) => sum + 2 ** each.cost, 0);
    };
    expect([4, 7, 10].map((cost) => workOf('wrong', cost))).toEqual([1024, 1024, 1024]);
    expect(workOf('right', 7)).toBe(128);
    expect(results.at(-1)).toBe(true);
  });
});
