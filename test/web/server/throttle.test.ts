import { expect, test } from 'vitest';
import { throttled } from '../../../src/web/server/servers.ts';

test('a message is logged at once, then at most one a minute, with the number of those left out', () => {
  let now = 0;
  const lines: string[] = [];
  const tell = throttled(
    (line) => void lines.push(line),
    () => now,
  );
  const wait = (milliseconds: number) => void (now += milliseconds);
  for (let client = 0; client < 50; client += 1) tell(`refused ${client}`);
  wait(59_999);
  tell('refused');
  expect(lines).toEqual(['refused 0']);
  wait(1);
  tell('refused');
  tell('refused');
  wait(60_000);
  tell('refused');
  wait(60_000);
  tell('refused');
  expect(lines.slice(1)).toEqual(['refused (and 50 more before)', 'refused (and 1 more before)', 'refused']);
});
