/** Label matchers of a dashboard's queries; every query has those of its dashboard (the linter asks for job and instance). */
export const EXPORTER = 'job=~"$job", instance=~"$instance"';
export const ACCOUNT = `${EXPORTER}, account=~"$account"`;
/**
 * The variables `app` and `host` show names and hold ids, so that equal names stay apart and renames do not matter. The id
 * of a host is its name again where the account is read through NerdGraph.
 */
export const APP = `${ACCOUNT}, app_id=~"$app"`;
export const HOST = `${APP}, host_id=~"$host"`;

/**
 * Matchers of series that recording rules give: copies of two exporters are folded there, so they have no instance.
 */
export const RECORDED = 'job=~"$job", account=~"$account"';
export const RECORDED_APP = `${RECORDED}, app_id=~"$app"`;

/** A selector of one family with matchers, and further ones where needed. */
export function select(family: string, matchers: string, more = ''): string {
  return `${family}{${matchers}${more === '' ? '' : `, ${more}`}}`;
}

/**
 * One series per combination of the given labels. `max` rather than `sum`: two exporters that serve the same account
 * give every series twice, and a copy must not count twice.
 */
export function by(labels: readonly string[], expression: string): string {
  return `max by (${labels.join(', ')}) (${expression})`;
}

/** Health as a number for tables: 3 red, 2 orange, 1 green, 0 anything else. */
export function healthRank(family: string, matchers: string, labels: readonly string[]): string {
  const rank = (status: string): string => by(labels, select(family, matchers, `status="${status}"`));
  return `3 * ${rank('red')} + 2 * ${rank('orange')} + ${rank('green')}`;
}
