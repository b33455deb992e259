import { expect, test } from 'vitest';
import { throttled } from '../../../src/web/server/servers.ts';

function collecting() {
  let now = 0;
  const lines: string[] = [];
  const tell = throttled(
    (line) => void lines.push(line),
    () => now,
  );
  return { lines, tell, wait: (milliseconds: number) => void (now += milliseconds) };
}

test('a message is logged at once, then once a minute with the number of times it was left out', () => {
  const { lines, tell, wait } = collecting();
  for (let index = 0; index < 50; index += 1) tell('refused');
  tell('something else');
  expect(lines).toEqual(['refused', 'something else']);
  wait(60_000);
  tell('refused');
  tell('refused');
  expect(lines.slice(2)).toEqual(['refused (and 49 more times before)']);
  wait(60_000);
  tell('refused');
  expect(lines.at(-1)).toBe('refused (and 1 more times before)');
  wait(60_000);
  tell('refused');
  expect(lines.at(-1)).toBe('refused');
});

test('messages that are always different share one place beyond the first hundred', () => {
  const { lines, tell, wait } = collecting();
  for (let index = 0; index < 10_000; index += 1) tell(`client ${index}`);
  expect(lines).toHaveLength(101);
  wait(60_000);
  tell('client 99');
  tell('client 100');
  expect(lines.slice(101)).toEqual(['client 99', 'client 100 (and 9899 more times before)']);
});
