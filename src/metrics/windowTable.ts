import type { Api } from '../api/reader.ts';
import type { DatabaseChoice } from '../formulas/databaseKind.ts';
import type { WindowValues } from '../formulas/inputs.ts';
import { isDatastore } from '../formulas/names.ts';
import { componentsOf } from './components.ts';
import { samplesOf } from './family.ts';
import type { Scope } from './family.ts';
import type { Sample } from './sample.ts';
import { EVERY_DATASTORE } from './windowRow.ts';
import type { Wanted, WindowRow } from './windowRow.ts';

/** The rows of each scope. */
export type WindowRows = Readonly<Record<Scope, readonly WindowRow[]>>;

/** What is asked for, kept and calculated because of the rows of the window families. */
export interface WindowTable {
  readonly rows: WindowRows;
  /**
   * Every metric name to ask for about an application or a host, each once. Those that an interface does not have for a
   * scope are left out; over REST a host is asked for the same names as its application.
   */
  readonly queryNames: (datastores: readonly string[], scope?: Scope, api?: Api) => string[];
  /** The value names of a metric that the calculations read; of a metric that they do not read, none. */
  readonly usedValues: (metricName: string) => readonly string[];
  /**
   * The samples of one application or host, in base units. `database` is the kind that counts for the application;
   * undefined while it is not known: then there are no components and no total time.
   */
  readonly windowSamples: (scope: Scope, values: WindowValues, database: DatabaseChoice | undefined) => Sample[];
}

/** Makes the table of these rows. */
export function windowTable(rows: WindowRows): WindowTable {
  const used = valuesByMetric([...rows.application, ...rows.host].flatMap(({ wanted }) => wanted));
  const ofDatastores = used.get(EVERY_DATASTORE) ?? [];
  return {
    rows,
    queryNames: (datastores, scope = 'application', api = 'rest') => {
      const asked = rows[scope].filter(({ interfaces }) => interfaces.includes(api));
      const names = asked.flatMap(({ wanted }) => wanted.map(({ metric }) => metric));
      return [...new Set([...names.filter((name) => name !== EVERY_DATASTORE), ...datastores])];
    },
    usedValues: (metricName) => used.get(metricName) ?? (isDatastore(metricName) ? ofDatastores : []),
    windowSamples: (scope, values, database) => {
      const components = database === undefined ? undefined : componentsOf(values, database);
      return samplesOf(rows[scope], { values, components });
    },
  };
}

function valuesByMetric(wanted: readonly Wanted[]): Map<Wanted['metric'], readonly string[]> {
  const values = new Map<Wanted['metric'], readonly string[]>();
  for (const { metric, values: more } of wanted) {
    values.set(metric, [...new Set([...(values.get(metric) ?? []), ...more])]);
  }
  return values;
}
