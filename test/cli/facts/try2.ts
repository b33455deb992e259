import { askSimulator, idsOf } from './support.ts';
for (const f of process.argv.slice(2)) {
  const t = performance.now();
  const found = await askSimulator('rest', f === 'none' ? [] : [f as never], { wait: f === 'late_minutes' });
  console.log(
    f,
    '=>',
    idsOf(found, 'differs').join(' '),
    '|',
    found.rows
      .filter(({ judged }) => judged.verdict.startsWith('not'))
      .map(({ id, judged }) => `${id}:${'why' in judged ? judged.why : ''}`)
      .join('; '),
    '|',
    found.problem ?? '',
    found.calls,
    Math.round(performance.now() - t),
    'ms',
  );
}
