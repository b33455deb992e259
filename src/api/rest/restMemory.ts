import { Omissions } from '../http/omissions.ts';
import type { Application, Host, Instance, KeyTransaction } from '../types.ts';
import { KnownRecords } from './lists.ts';

/** The first limit for the metric names of one metric data call. */
const MAX_NAMES = 30;

/** Facts learned from responses about an account. The memory belongs to the account: a reload hands it to the next reader. */
export class RestMemory {
  /** Refused metric names. */
  readonly omissions: Omissions;
  /** The present limit for the names of a call. A list that was refused as a whole, but not in parts, lowers it for good. */
  maxNames = MAX_NAMES;
  /** The applications on the pages of the last whole list. */
  listed: ReadonlySet<number> = new Set();
  /** What the last whole list of applications, and the last lists by ids, had. */
  readonly applications = new KnownRecords<Application>();
  readonly applicationsById = new KnownRecords<Application>();
  /** The same of key transactions. */
  readonly keyTransactions = new KnownRecords<KeyTransaction>();
  readonly keyTransactionsById = new KnownRecords<KeyTransaction>();
  /** What the last lists of hosts and instances had, by application. */
  readonly hosts = new Map<number, KnownRecords<Host>>();
  readonly instances = new Map<number, KnownRecords<Instance>>();
  /** The number of calls that the custom names of an application took at the last read. */
  readonly nameCalls = new Map<number, number>();
  /** The memory of the account's NerdGraph reader, which reads queries and entities. A reload hands it on with this one. */
  nerdgraph: object | undefined;

  constructor(monotonic: () => number) {
    this.omissions = new Omissions(monotonic);
  }

  /** Forgets what was learned of the applications that are gone. */
  forgetGone(isGone: (applicationId: number) => boolean): void {
    for (const map of [this.nameCalls, this.hosts, this.instances]) {
      for (const id of map.keys()) if (isGone(id)) map.delete(id);
    }
  }
}
