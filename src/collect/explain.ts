import { FAMILIES } from '../metrics/catalogue.ts';
import type { WindowReading } from './records.ts';

/** Says in words what upstream answered for an application, and for each absent family what it is made of. */
export function explainReading(reading: WindowReading): string[] {
  const answered = [...reading.values].map(([name, { values }]) => {
    const calls = values['call_count'] ?? values['count'];
    return calls === undefined ? name : `${name} (${calls})`;
  });
  const present = new Set(reading.samples.map(({ family }) => family));
  const absent = FAMILIES.filter((family) => family.group === 'application_metrics' && !present.has(family));
  return [
    `upstream answered ${answered.length} metrics (with their counts): ${answered.join(', ')}`,
    ...absent.map((family) => `${family.name} is absent; it comes from ${family.source}`),
  ];
}
