import type { MetricWindow, WindowValues } from '../formulas/inputs.ts';
import type { Component } from './components.ts';
import { catalogueFamily } from './family.ts';
import type { Calculated, FamilyKind, FamilySpec, Row, Scope } from './family.ts';

/** What is known about one application or host over one window. */
export interface WindowInput {
  readonly values: WindowValues;
  /** The components that count; undefined while the database kind is not known. */
  readonly components: readonly Component[] | undefined;
}

/** Stands for the metric of every datastore type, whose names differ from application to application. */
export const EVERY_DATASTORE = Symbol('every datastore type');

/** A metric to ask for, and the values of it to keep. */
export interface Wanted {
  readonly metric: string | typeof EVERY_DATASTORE;
  readonly values: readonly string[];
}

/** Something that a row reads: what it needs of upstream, and how it is found in what was answered. */
export interface Reading<T> {
  readonly wanted: readonly Wanted[];
  readonly of: (input: WindowInput) => T;
}

/** A window family with its calculation and what it reads. */
export interface WindowRow extends Row<WindowInput> {
  readonly wanted: readonly Wanted[];
}

type Readings = Readonly<Record<string, Reading<unknown>>>;

/** What a calculation gets: of each reading what was answered. A value that the row does not read is a type error. */
type Inputs<R extends Readings> = { readonly [Name in keyof R]: R[Name] extends Reading<infer T> ? T : never };

interface WindowRowSpec<R extends Readings> extends FamilySpec {
  readonly reads: R;
  readonly calculate: (inputs: Inputs<R>) => Calculated;
}

/** Makes one row of one scope. */
export type WindowRowMaker = <R extends Readings>(spec: WindowRowSpec<R>) => WindowRow;

/** Reads values of one metric; undefined where upstream has no such metric. */
export function read<Value extends string>(
  metric: string,
  ...values: readonly Value[]
): Reading<MetricWindow<Value> | undefined> {
  return { wanted: [{ metric, values }], of: (input) => input.values.get(metric) };
}

/** The maker of a scope's rows. */
export function windowRowMaker(scope: Scope): WindowRowMaker {
  const kind: FamilyKind = { prefix: `newrelic_${scope}`, group: `${scope}_metrics`, timeBase: 'window' };
  return ({ reads, calculate, ...spec }) => {
    const readings = Object.entries(reads);
    return {
      ...catalogueFamily(kind, spec),
      wanted: readings.flatMap(([, { wanted }]) => wanted),
      calculate: (input) => {
        const inputs: Record<string, unknown> = {};
        for (const [name, reading] of readings) inputs[name] = reading.of(input);
        return calculate(inputs as Inputs<typeof reads>);
      },
    };
  };
}
