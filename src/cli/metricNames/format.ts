import type { Application, Host, MetricName } from '../../api/types.ts';
import { escapeUnsafe } from '../../log/logfmt.ts';

/** The metric names of an application or of one of its hosts. */
export interface MetricNames {
  readonly account: string;
  readonly application: Application;
  readonly host: Host | undefined;
  readonly names: readonly MetricName[];
  /** False when the list goes on after the pages that were read. */
  readonly complete: boolean;
}

/**
 * For people, or as JSON; ends in a line feed. For people, names with the same value names stand together under these,
 * because nearly all metrics have the same ten.
 */
export function formatMetricNames(found: MetricNames, format: 'table' | 'json'): string {
  if (format === 'table') return asText(found.names);
  const { account, application, host, names, complete } = found;
  const document = {
    account,
    application: { id: application.id, name: application.name },
    ...(host === undefined ? {} : { host: { id: host.key, name: host.host } }),
    complete,
    metrics: names.map(({ name, values }) => ({ name, values: values ?? null })),
  };
  return `${JSON.stringify(document, undefined, 2)}\n`;
}

function asText(names: readonly MetricName[]): string {
  const groups = new Map<string | undefined, string[]>();
  for (const { name, values } of names) {
    const key = values?.join(' ');
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [name]);
    else group.push(name);
  }
  return [...groups]
    .map(([values, members]) =>
      // An interface that does not tell value names gives one name per line, and nothing else.
      values === undefined
        ? members.map((name) => `${escapeUnsafe(name)}\n`).join('')
        : [`VALUES  ${escapeUnsafe(values)}\n`, ...members.map((name) => `  ${escapeUnsafe(name)}\n`)].join(''),
    )
    .join('\n');
}
