import type { AccountStatus, ApplicationView } from '../../collect/accountStatus.ts';
import { inSlices } from '../../eventLoop/turns.ts';
import { readSamples } from '../../metrics/writeSamples.ts';
import type { Block, Sample } from '../../metrics/sample.ts';

export interface ShownAccount extends AccountStatus {
  readonly applications: readonly ShownApplication[] | undefined;
}

export interface ShownApplication extends ApplicationView {
  readonly breakdown: Breakdown | undefined;
}

/** The parts of an application's response time, in seconds. */
export interface Breakdown {
  /** Total response time; undefined if there is none to show. */
  readonly responseTime: number | undefined;
  /** Parts in display order: queueing, components by name, the application's own code. Absent parts are left out. */
  readonly parts: readonly {
    readonly kind: 'queue' | 'component' | 'total';
    readonly name: string;
    readonly metric: string;
    readonly seconds: number;
  }[];
}

const RESPONSE_TIME = 'newrelic_application_response_time_seconds';
const PARTS = [
  { kind: 'queue', name: 'Request queueing', metric: 'newrelic_application_queue_time_seconds' },
  { kind: 'component', name: '', metric: 'newrelic_application_component_time_seconds' },
  { kind: 'total', name: 'Application code', metric: 'newrelic_application_total_time_seconds' },
] as const;

/**
 * The accounts with the breakdowns of their applications, made from the samples of `blocks`, one of each application; lets other
 * work run in between.
 */
export async function withBreakdowns(
  accounts: readonly AccountStatus[],
  blocks: readonly Block[],
  signal: AbortSignal,
): Promise<ShownAccount[]> {
  const breakdowns = new Map<string, Breakdown>();
  const take = ({ labels, samples }: Block): void => {
    breakdowns.set(`${labels.app_id}/${labels.account}`, breakdownOf(readSamples(samples)));
  };
  await inSlices(blocks, take, signal);
  return accounts.map((account) => ({
    ...account,
    applications: account.applications?.map((application) => {
      return { ...application, breakdown: breakdowns.get(`${application.id}/${account.name}`) };
    }),
  }));
}

function breakdownOf(samples: readonly Sample[]): Breakdown {
  return {
    responseTime: samples.find(({ family }) => family.name === RESPONSE_TIME)?.value,
    parts: PARTS.flatMap((part) =>
      samples
        .filter(({ family }) => family.name === part.metric)
        .map(({ labels, value }) => ({ ...part, name: labels?.component ?? part.name, seconds: value }))
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    ),
  };
}
