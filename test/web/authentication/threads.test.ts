import { EventEmitter } from 'node:events';
import bcrypt from 'bcryptjs';
import { describe, expect, test, vi } from 'vitest';
import { compareInWorker } from '../../../src/web/authentication/passwords.ts';

/** A thread that runs this text when a password comes; it finds `password` and `hash`, its port in `port`. */
function threadThat(text: string): URL {
  const script =
    `import { parentPort as port } from 'node:worker_threads';` +
    `let asked = 0;` +
    `port.on('message', ([password, hash]) => { asked += 1; ${text} });`;
  return new URL(`data:text/javascript,${encodeURIComponent(script)}`);
}

describe('the thread that compares passwords', () => {
  test('serves several passwords', async () => {
    const compare = compareInWorker(threadThat('port.postMessage(asked === Number(password));'));
    for (const asked of ['1', '2', '3']) expect(await compare(asked, '')).toBe(true);
  });

  test.each([
    ['ends', 'process.exit(0)', 'the thread that compares passwords has ended'],
    ['throws', `throw new Error('no memory for this')`, 'no memory for this'],
  ])(
    'fails the password in work when it %s, and another thread compares the next password',
    async (_, does, message) => {
      const compare = compareInWorker(
        threadThat(`if (password === 'fail') ${does}; port.postMessage(asked === Number(password));`),
      );
      expect(await compare('1', '')).toBe(true);
      await expect(compare('fail', '')).rejects.toThrow(message);
      expect(await compare('1', '')).toBe(true);
    },
  );

  test('gives the verdict of bcrypt', async () => {
    const port = Object.assign(new EventEmitter(), { postMessage: vi.fn() });
    vi.doMock('node:worker_threads', () => ({ parentPort: port }));
    await import('../../../src/web/authentication/passwordWorker.ts');
    const hash = bcrypt.hashSync('right', 4);
    for (const password of ['right', 'wrong']) port.emit('message', [password, hash]);
    expect(port.postMessage.mock.calls).toEqual([[true], [false]]);
  });
});
