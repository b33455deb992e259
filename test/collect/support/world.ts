import { pino } from 'pino';
import type { AccountConfig, CollectionConfig, Config } from '../../../src/config/config.ts';
import { Collector, type Snapshot } from '../../../src/collect/collector.ts';
import type { AccountStatus, GroupStatus } from '../../../src/collect/serve/accountStatus.ts';
import type { ProbeResult } from '../../../src/collect/serve/probeResult.ts';
import type { Scope } from '../../../src/collect/schedule/demand.ts';
import { GROUPS, type Group } from '../../../src/reads/reads.ts';
import { application, host } from './bodies.ts';
import { accountConfig, collectionConfig } from './config.ts';
import { FakeReader, type Likeness } from './fakeReader.ts';
import { VirtualClock } from './virtualClock.ts';
import { samplesIn } from '../../support/expositionBlocks.ts';

export const EVERYTHING: Scope = { groups: new Set(GROUPS) };

/** Upstreams like the REST interface, and like NerdGraph. */
export const REST: Likeness = { api: 'rest', perCall: 1 };
export const NERDGRAPH: Likeness = { api: 'nerdgraph', perCall: 10 };

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** A collector on a virtual clock with one fake upstream service per account. */
export class World {
  readonly clock = new VirtualClock();
  readonly lines: LogLine[] = [];
  readonly readers = new Map<string, FakeReader>();
  readonly opened: FakeReader[] = [];
  /** The memory that each reader was opened with. */
  readonly memories = new Map<FakeReader, object | undefined>();
  /** Identifies the key of an account: another text is another key. */
  keyOf: (account: string) => string = () => 'key';
  readonly likeness: Likeness;
  readonly collector: Collector;

  constructor(
    accounts: readonly AccountConfig[] = [accountConfig()],
    collection: CollectionConfig = collectionConfig(),
    likeness: Likeness = REST,
  ) {
    this.likeness = likeness;
    const write = (line: string): void => void this.lines.push(JSON.parse(line) as LogLine);
    for (const { name } of accounts) this.readers.set(name, new FakeReader(this.clock, this.likeness));
    this.collector = new Collector({ accounts, collection } satisfies Config, {
      clock: this.clock,
      log: pino({ level: 'info' }, { write }),
      openReader: ({ name, account_id, origin }, _config, limiter, before) => {
        // An account keeps its upstream when it is renamed.
        const upstream = origin === undefined ? name : String(account_id);
        const reader = this.readers.get(upstream) ?? this.#newReader();
        this.readers.set(upstream, reader);
        this.opened.push(reader);
        this.memories.set(reader, before?.memory);
        Object.assign(reader, { limiter, health: limiter.health });
        return { reader, keyMark: () => this.keyOf(name) };
      },
    });
  }

  /** Returns a world whose first account has these numbers of applications and of hosts each. */
  static create(applications: number, hosts = 0, ...arrangement: ConstructorParameters<typeof World>): World {
    const world = new World(...arrangement);
    world.populate(applications, hosts);
    return world;
  }

  /** Creates the upstream service of an account that was added after the start. */
  arrange: (reader: FakeReader) => void = () => undefined;

  #newReader(): FakeReader {
    const reader = new FakeReader(this.clock, this.likeness);
    this.arrange(reader);
    return reader;
  }

  /** The upstream service of the first account. */
  get reader(): FakeReader {
    const [reader] = this.readers.values();
    if (reader === undefined) throw new Error('no account');
    return reader;
  }

  get status(): AccountStatus {
    const [status] = this.collector.status();
    if (status === undefined) throw new Error('no account');
    return status;
  }

  group(group: Group): GroupStatus {
    const found = this.status.groups.find((status) => status.group === group);
    if (found === undefined) throw new Error(`${group} is off`);
    return found;
  }

  /** Gives the first account these numbers of applications and of hosts each. */
  populate(applications: number, hosts = 0): void {
    const { reader } = this;
    reader.applications = Array.from({ length: applications }, (_, index) => application(index + 1));
    for (const { id } of reader.applications) {
      reader.hostsOf.set(
        id,
        Array.from({ length: hosts }, (_, index) => host(id * 1000 + index)),
      );
    }
  }

  /** Scrapes like Prometheus with a timeout of 10 seconds. Returns the exposition and the milliseconds it took. */
  async scrape(scope = EVERYTHING, timeout = 9_500): Promise<Snapshot & { readonly took: number }> {
    const asOf = this.clock.monotonic();
    await this.clock.run(this.collector.refresh(scope, timeout));
    const took = this.clock.monotonic() - asOf;
    return { ...(await this.collector.snapshot(scope, asOf)), took };
  }

  /** Probes an application and returns the response. */
  probe(id = 1, account = 'main'): Promise<ProbeResult> {
    return this.clock.run(this.collector.probe(account, id, 9_500));
  }

  /** Probes a known application and returns its blocks and the notes. */
  async probed(id = 1): Promise<Extract<ProbeResult, { readonly kind: 'result' }>> {
    const result = await this.probe(id);
    if (result.kind !== 'result') throw new Error(`the probe ended with ${result.kind}`);
    return result;
  }

  /** Scrapes every `every` seconds for a number of seconds. */
  async scrapeFor(seconds: number, every = 15, each: () => void = () => undefined): Promise<void> {
    const from = this.clock.now();
    for (let second = 0; second < seconds; second += every) {
      await this.clock.until(from + second * 1000);
      await this.scrape();
      each();
    }
    await this.clock.until(from + seconds * 1000);
  }

  /** Advances to `seconds` after the start of the next minute. */
  async nextMinute(seconds = 0): Promise<void> {
    await this.clock.until((Math.floor(this.clock.now() / 60_000) + 1) * 60_000 + seconds * 1000);
  }

  /** Scrapes `seconds` after the start of the next minute. */
  async nextScrape(seconds = 1): ReturnType<World['scrape']> {
    await this.nextMinute(seconds);
    return this.scrape();
  }

  /** The value of one series of an application's or a host's block; undefined when it is absent. */
  value(response: Snapshot, family: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    for (const block of response.blocks) {
      for (const sample of samplesIn(block.samples)) {
        const all = { ...block.labels, ...sample.labels };
        if (sample.family.name !== family) continue;
        if (Object.entries(labels).every(([name, value]) => all[name] === value)) return sample.value;
      }
    }
    return undefined;
  }
}
