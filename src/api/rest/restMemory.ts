import { Omissions } from '../http/omissions.ts';
import type { Application, Host, Instance, KeyTransaction } from '../types.ts';
import { KnownRecords } from './lists.ts';

/** Facts about an account from earlier responses. A reload hands the memory to the next reader. */
export class RestMemory {
  /** Refused metric names. */
  readonly omissions: Omissions;
  /** The limit for the names of a call. It falls for good if New Relic refuses a list, but answers all its parts. */
  maxNames = 30;
  readonly applications = new KnownRecords<Application>();
  readonly keyTransactions = new KnownRecords<KeyTransaction>();
  /** By application, like `nameCalls`. */
  readonly hosts = new Map<number, KnownRecords<Host>>();
  readonly instances = new Map<number, KnownRecords<Instance>>();
  /** Number of calls of the last read of custom names. */
  readonly nameCalls = new Map<number, number>();
  /** Memory of the NerdGraph reader for queries and entities of the account. */
  nerdgraph: object | undefined;

  constructor(monotonic: () => number) {
    this.omissions = new Omissions(monotonic);
  }

  /** Forgets the facts about applications that are gone. */
  forgetGone(isGone: (applicationId: number) => boolean): void {
    for (const map of [this.nameCalls, this.hosts, this.instances]) {
      for (const id of map.keys()) if (isGone(id)) map.delete(id);
    }
  }
}
