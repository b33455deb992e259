import type { Application, Host, Instance, KeyTransaction, RollingValues } from '../../api/types.ts';
import type { Group } from '../../metrics/groups.ts';
import type { Sample, WrittenSamples } from '../../metrics/sample.ts';
import { applicationSamples, hostSamples, instanceSamples, keyTransactionSamples } from '../../metrics/samples.ts';
import { writeSamples } from '../../metrics/writeSamples.ts';
import type { Rolling } from './records.ts';

/** How the entries of one kind of list are written as samples: alone, and together with their rolling values. */
export class ListSamples<Entry> {
  readonly #group: Group;
  readonly #samplesOf: (entry: Entry, rolling?: RollingValues) => readonly Sample[];

  /** @param samplesOf the samples of an entry alone, or of the entry and its rolling values together */
  constructor(group: Group, samplesOf: (entry: Entry, rolling?: RollingValues) => readonly Sample[]) {
    this.#group = group;
    this.#samplesOf = samplesOf;
  }

  /** Writes what the list says of an entry. */
  write(entry: Entry): WrittenSamples {
    return writeSamples(this.#group, this.#samplesOf(entry));
  }

  /** Takes over rolling values that were read apart from the list; nothing where none are read. */
  setRolling(entry: Entry, rolling: Rolling | undefined, values: RollingValues): void {
    if (rolling === undefined) return;
    rolling.values = values;
    this.writeRolling(entry, rolling);
  }

  /** Writes the entry and its rolling values together, where those are read apart and have been read. */
  writeRolling(entry: Entry, rolling: Rolling | undefined): void {
    if (rolling?.values !== undefined) rolling.samples = this.writeWith(entry, rolling.values);
  }

  /** Writes an entry together with rolling values. */
  writeWith(entry: Entry, rolling: RollingValues): WrittenSamples {
    return writeSamples(this.#group, this.#samplesOf(entry, rolling));
  }
}

export const APPLICATION_LIST = new ListSamples<Application>('applications', applicationSamples);
export const KEY_TRANSACTION_LIST = new ListSamples<KeyTransaction>('key_transactions', keyTransactionSamples);
export const HOST_LIST = new ListSamples<Host>('hosts', hostSamples);
export const INSTANCE_LIST = new ListSamples<Instance>('instances', instanceSamples);
