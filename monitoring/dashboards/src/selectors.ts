/** Label matchers that all queries of a dashboard have. The linter asks for job and instance. */
export const EXPORTER = 'job=~"$job", instance=~"$instance"';
export const ACCOUNT = `${EXPORTER}, account=~"$account"`;
/**
 * The variables `app` and `host` show names and hold ids: equal names differ, and renames do not matter. With
 * NerdGraph, the id of a host is its name.
 */
export const APP = `${ACCOUNT}, app_id=~"$app"`;
export const HOST = `${APP}, host_id=~"$host"`;

/** Matchers for series of recording rules. The rules merge the copies of two exporters, so these have no instance. */
export const RECORDED = 'job=~"$job", account=~"$account"';
export const RECORDED_APP = `${RECORDED}, app_id=~"$app"`;

/** Writes a selector of a family with matchers, and optionally `more`. */
export function select(family: string, matchers: string, more = ''): string {
  return `${family}{${matchers}${more === '' ? '' : `, ${more}`}}`;
}

/**
 * Keeps one series per combination of `labels`. `max`, not `sum`: two exporters of one account give every series
 * twice.
 */
export function by(labels: readonly string[], expression: string): string {
  return `max by (${labels.join(', ')}) (${expression})`;
}

/** Writes health as a number for tables: 3 red, 2 orange, 1 green, 0 anything else. */
export function healthRank(family: string, matchers: string, labels: readonly string[]): string {
  const rank = (status: string): string => by(labels, select(family, matchers, `status="${status}"`));
  return `3 * ${rank('red')} + 2 * ${rank('orange')} + ${rank('green')}`;
}
