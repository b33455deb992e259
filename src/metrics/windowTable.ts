import type { Api } from '../api/reader.ts';
import { type DatabaseChoice, databaseMetrics } from '../formulas/responseTimes.ts';
import { type WindowValues, isDatastore, METRIC, type TimedCalls, type Values } from '../formulas/metricInputs.ts';
import {
  samplesOf,
  type FamilyScope,
  catalogueFamily,
  type FamilyKind,
  type FamilySpec,
  type FamilyRow,
} from './family.ts';
import type { Sample, Labels } from './sample.ts';

/** What is asked for, kept and calculated because of these rows. */
export function windowTable(rows: Readonly<Record<FamilyScope, readonly WindowRow[]>>) {
  const used = new Map<WantedMetric['metric'], readonly string[]>();
  for (const { metric, values } of [...rows.application, ...rows.host].flatMap(({ wanted }) => wanted)) {
    used.set(metric, [...new Set([...(used.get(metric) ?? []), ...values])]);
  }
  const ofDatastores = used.get(EVERY_DATASTORE) ?? [];
  return {
    rows,
    /**
     * Every metric name to ask for about an application or a host, each once. Those that an interface does not have for a
     * scope are left out; over REST a host is asked for the same names as its application.
     */
    queryNames: (datastores: readonly string[], scope: FamilyScope = 'application', api: Api = 'rest'): string[] => {
      const asked = rows[scope].filter(({ interfaces }) => interfaces.includes(api));
      const names = asked.flatMap(({ wanted }) => wanted.map(({ metric }) => metric));
      return [...new Set([...names.filter((name) => name !== EVERY_DATASTORE), ...datastores])];
    },
    /** The value names of a metric that the calculations read; of a metric that they do not read, none. */
    usedValues: (metricName: string): readonly string[] =>
      used.get(metricName) ?? (isDatastore(metricName) ? ofDatastores : []),
    /**
     * The samples of one application or host, in base units. `database` is the kind that counts for the application;
     * undefined while it is not known: then there are no components and no total time.
     */
    windowSamples: (scope: FamilyScope, values: WindowValues, database: DatabaseChoice | undefined): Sample[] => {
      const components = database === undefined ? undefined : componentsOf(values, database);
      return samplesOf(rows[scope], { values, components });
    },
  };
}

/** What is known about one application or host over one window. */
interface FormulaInput {
  readonly values: WindowValues;
  /** The components that count; undefined while the database kind is not known. */
  readonly components: readonly Component[] | undefined;
}

/** Stands for the metric of every datastore type, whose names differ from application to application. */
export const EVERY_DATASTORE = Symbol('every datastore type');

/** A metric to ask for, and the values of it to keep. */
interface WantedMetric {
  readonly metric: string | typeof EVERY_DATASTORE;
  readonly values: readonly string[];
}

/** Something that a row reads: what it needs of upstream, and how it is found in what was answered. */
export interface Reading<T> {
  readonly wanted: readonly WantedMetric[];
  readonly of: (input: FormulaInput) => T;
}

/** A window family with its calculation and what it reads. */
export interface WindowRow extends FamilyRow<FormulaInput> {
  readonly wanted: readonly WantedMetric[];
}

/** Makes one row of one scope. */
export type WindowRowMaker = <Inputs extends object>(
  spec: FamilySpec & {
    readonly reads: { readonly [Name in keyof Inputs]: Reading<Inputs[Name]> };
    /**
     * @param inputs of each reading what was answered; a value that the row does not read is a type error
     * @param seconds length of the window
     */
    readonly calculate: (inputs: Inputs, seconds: number) => ReturnType<WindowRow['calculate']>;
  },
) => WindowRow;

/** Reads values of one metric; undefined where upstream has no such metric. */
export function read<Value extends string>(
  metric: string,
  ...values: readonly Value[]
): Reading<Values<Value> | undefined> {
  return { wanted: [{ metric, values }], of: ({ values: { metrics } }) => metrics.get(metric) };
}

/** The maker of a scope's rows. */
export function windowRowMaker(scope: FamilyScope): WindowRowMaker {
  const kind: FamilyKind = { prefix: `newrelic_${scope}`, group: `${scope}_metrics`, timeBase: 'window' };
  return ({ reads, calculate, ...spec }) => {
    const readings: [string, Reading<unknown>][] = Object.entries(reads);
    return {
      ...catalogueFamily(kind, spec),
      wanted: readings.flatMap(([, { wanted }]) => wanted),
      calculate: (input) => {
        const inputs: Record<string, unknown> = {};
        for (const [name, reading] of readings) inputs[name] = reading.of(input);
        return calculate(inputs as Parameters<typeof calculate>[0], input.values.seconds);
      },
    };
  };
}

/** A part of the time of web requests that upstream answered and that counts. */
export interface Component {
  /** Its metric's name without `/all` or `/allWeb`. */
  readonly labels: Labels;
  readonly calls: TimedCalls;
}

/** The components of an application or a host, the metrics of the database kind that counts first. */
function componentsOf(values: WindowValues, database: DatabaseChoice): Component[] {
  const names = [...databaseMetrics(values, database), METRIC.memcache, METRIC.external];
  return names.flatMap((name) => {
    const calls = values.metrics.get(name);
    return calls === undefined ? [] : [{ labels: { component: name.replace(/\/all(?:Web)?$/, '') }, calls }];
  });
}
