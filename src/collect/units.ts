import type { Group } from '../metrics/groups.ts';
import type { AccountContext } from './context.ts';
import type { Costs } from './costs.ts';
import type { ApplicationRecord, WindowReading } from './records.ts';
import { Unit, type Held, type Work } from './unit.ts';
import { windowWork } from './works.ts';

/** What a unit of an application, or of one of its hosts, is about. */
interface ApplicationSubject {
  readonly applicationId: number;
  readonly hostKey?: string;
}

/** Makes and retires the units of an account's applications, and keeps the costs up to date with them. */
export class Units {
  readonly #context: () => AccountContext;
  readonly #now: () => number;
  readonly #costs: Costs;
  readonly #retired: (unit: Unit) => void;

  /** @param retired told of every unit that is retired */
  constructor(context: () => AccountContext, now: () => number, costs: Costs, retired: (unit: Unit) => void) {
    this.#context = context;
    this.#now = now;
    this.#costs = costs;
    this.#retired = retired;
  }

  make<V>(group: Group, subject: ApplicationSubject, work: Work<V>, arrived: (held: Held<V>) => void): Unit<V> {
    const unit = new Unit(group, subject, this.#now(), work, arrived);
    this.#costs.add(unit);
    return unit;
  }

  /** A unit for the metric data of an application, or of one of its hosts. */
  makeWindow(
    group: Group,
    subject: ApplicationSubject,
    record: ApplicationRecord,
    arrived: () => void,
  ): Unit<WindowReading> {
    const unit = this.make(group, subject, windowWork(this.#context, record, subject.hostKey), ({ value }) => {
      this.#costs.learn(unit, value.calls);
      arrived();
    });
    return unit;
  }

  /** Says how many calls a reading of a unit takes. */
  learn(unit: Unit, calls: number): void {
    this.#costs.learn(unit, calls);
  }

  /** The unit there is, or a new one, while it is wanted; else none. */
  keep<V>(wanted: boolean, unit: Unit<V> | undefined, make: () => Unit<V>): Unit<V> | undefined {
    if (wanted) return unit ?? make();
    if (unit !== undefined) this.retire([unit]);
    return undefined;
  }

  /** What these units still bring is dropped. */
  retire(units: readonly Unit[]): void {
    for (const unit of units) {
      this.#costs.remove(unit);
      unit.gone = true;
      this.#retired(unit);
    }
  }
}
