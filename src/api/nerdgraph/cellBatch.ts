import type { Fleet } from './fleet.ts';
import type { Term } from './part.ts';
import { Filling, plan } from './plan.ts';
import type { Cell, PlanOptions } from './plan.ts';
import type { Batch } from '../reader.ts';

/** What a subject asks for: metrics of an application, or of one of its hosts. */
export interface Wanted {
  readonly applicationId: number;
  readonly terms: readonly Term[];
  readonly host: string | undefined;
}

/** One query that is being filled; several hosts of an application cost as much as one. */
export class CellBatch<S> implements Batch<S> {
  /** Another host of an application that is in it always fits. */
  readonly full = false;
  readonly #fleet: Fleet;
  readonly #wanted: (subject: S) => Wanted;
  readonly #optionsOf: (subject: S) => PlanOptions;
  readonly #subjects: S[] = [];
  #open: { readonly options: PlanOptions; readonly filling: Filling } | undefined;
  readonly #terms = new Map<number, readonly Term[]>();

  constructor(fleet: Fleet, wanted: (subject: S) => Wanted, optionsOf: (subject: S) => PlanOptions) {
    this.#fleet = fleet;
    this.#wanted = wanted;
    this.#optionsOf = optionsOf;
  }

  add(subject: S): boolean {
    const options = this.#optionsOf(subject);
    this.#open ??= { options, filling: new Filling(this.#fleet, options) };
    if (options.kind !== this.#open.options.kind) return false;
    const { applicationId, terms, host } = this.#wanted(subject);
    const before = this.#terms.get(applicationId);
    if (before !== undefined && before !== terms) return false;
    const hosts = host === undefined ? undefined : [host];
    if (before === undefined && !this.#open.filling.add({ applicationId, terms, hosts })) return false;
    this.#terms.set(applicationId, terms);
    this.#subjects.push(subject);
    return true;
  }

  get calls(): number {
    if (this.#open === undefined) return 0;
    // What was filled is one query, unless already its first application is too large for one.
    if (this.#open.filling.fits) return 1;
    return plan(cellsOf(this.#subjects.map(this.#wanted)), this.#fleet, this.#open.options).length;
  }
}

/** One cell for each application, with all the hosts and all the metrics that are asked for of it. */
export function cellsOf(wanted: readonly Wanted[]): Cell[] {
  const cells = new Map<number, { terms: readonly Term[]; hosts: Set<string> | undefined }>();
  for (const { applicationId, terms, host } of wanted) {
    const cell = cells.get(applicationId);
    if (cell === undefined) {
      cells.set(applicationId, { terms, hosts: host === undefined ? undefined : new Set([host]) });
      continue;
    }
    if (cell.terms !== terms) cell.terms = union(cell.terms, terms);
    if (host !== undefined) cell.hosts?.add(host);
  }
  return [...cells].map(([applicationId, { terms, hosts }]) => ({
    applicationId,
    terms,
    hosts: hosts === undefined ? undefined : [...hosts],
  }));
}

function union(a: readonly Term[], b: readonly Term[]): readonly Term[] {
  return [...a, ...b.filter((term) => !a.some(({ text, like }) => text === term.text && like === term.like))];
}
