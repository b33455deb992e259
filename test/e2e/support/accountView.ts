import type { ParsedFamily, ParsedSample } from '../../support/exposition.ts';

/** The samples of one account in an answer. */
export class AccountView {
  readonly #samples: readonly ParsedSample[];

  constructor(samples: readonly ParsedSample[]) {
    this.#samples = samples;
  }

  /** The samples of a family that have these labels. */
  all(name: string, labels: Readonly<Record<string, string>> = {}): readonly ParsedSample[] {
    return this.#samples.filter(
      (sample) =>
        sample.name === name && Object.entries(labels).every(([label, wanted]) => sample.labels[label] === wanted),
    );
  }

  /** Their sum; undefined without any. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const found = this.all(name, labels);
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }

  get up(): number | undefined {
    return this.sum('newrelic_up');
  }

  success(group: string): number | undefined {
    return this.sum('newrelic_exporter_collection_success', { group });
  }

  entities(state: string, group?: string): number {
    return this.sum('newrelic_exporter_collection_entities', group === undefined ? { state } : { state, group }) ?? 0;
  }

  failures(labels: Readonly<Record<string, string>> = {}): number {
    return this.sum('newrelic_exporter_api_failures_total', labels) ?? 0;
  }

  has(name: string, labels: Readonly<Record<string, string>> = {}): boolean {
    return this.all(name, labels).length > 0;
  }

  /** Samples that are no finite numbers. */
  notFinite(): readonly ParsedSample[] {
    return this.#samples.filter(({ value, labels }) => !Number.isFinite(value) && labels['le'] === undefined);
  }
}

/** The answer taken apart by account. */
export function byAccount(families: readonly ParsedFamily[]): (account: string) => AccountView {
  const samples = new Map<string, ParsedSample[]>();
  for (const sample of families.flatMap((family) => family.samples)) {
    const account = sample.labels['account'] ?? '';
    const known = samples.get(account);
    if (known === undefined) samples.set(account, [sample]);
    else known.push(sample);
  }
  return (account) => new AccountView(samples.get(account) ?? []);
}
