import { describe, expect, test } from 'vitest';
import { compareInWorker } from '../../../src/web/authentication/compareInWorker.ts';

/** A thread that runs this text when a password comes; it finds the message in `request`, its port in `port`. */
function threadThat(text: string): URL {
  const script =
    `import { parentPort as port } from 'node:worker_threads';` +
    `let asked = 0;` +
    `port.on('message', (request) => { asked += 1; ${text} });`;
  return new URL(`data:text/javascript,${encodeURIComponent(script)}`);
}

describe('the thread that compares passwords', () => {
  test('gives each password its own verdict, in whatever order they come back', async () => {
    const compare = compareInWorker(
      threadThat(`
        const answer = () => port.postMessage({ id: request.id, matches: request.password === request.hash });
        if (asked % 2 === 1) setTimeout(answer, 20); else answer();
      `),
    );
    const verdicts = await Promise.all(['a', 'b', 'c', 'd'].map((password) => compare(password, 'b')));
    expect(verdicts).toEqual([false, true, false, false]);
  });

  test('fails whatever waits when it ends, and is started anew by the next password', async () => {
    const compare = compareInWorker(
      threadThat(`
        if (request.password === 'end') process.exit(0);
        if (request.password === 'count') port.postMessage({ id: request.id, matches: asked === 1 });
      `),
    );
    const waiting = ['wait', 'wait too', 'end'].map((password) => compare(password, ''));
    for (const outcome of await Promise.allSettled(waiting)) {
      const message = 'the thread that compares passwords has ended';
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message } });
    }
    expect(await compare('count', '')).toBe(true);
  });

  test('fails whatever waits with what it throws, and is started anew by the next password', async () => {
    const compare = compareInWorker(
      threadThat(`
        if (request.password === 'throw') throw new Error('no memory for this');
        if (request.password === 'count') port.postMessage({ id: request.id, matches: asked === 1 });
      `),
    );
    const waiting = ['wait', 'throw'].map((password) => compare(password, ''));
    for (const outcome of await Promise.allSettled(waiting)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: 'no memory for this' } });
    }
    expect(await compare('count', '')).toBe(true);
  });
});
