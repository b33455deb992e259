import { readSamples } from '../../metrics/writeSamples.ts';
import type { Block, Sample } from '../../metrics/sample.ts';

/** One coloured part of an application's response time. */
export interface BreakdownPart {
  readonly kind: 'queue' | 'component' | 'total';
  readonly name: string;
  /** The family that it comes from. */
  readonly metric: string;
  readonly seconds: number;
}

/** How an application's response time is made up, in seconds. */
export interface Breakdown {
  /** Undefined where there is none to show. */
  readonly responseTime: number | undefined;
  /** Queueing first, components by name, the application's own code last; what is absent is not here. */
  readonly parts: readonly BreakdownPart[];
}

const RESPONSE_TIME = 'newrelic_application_response_time_seconds';
const QUEUE_TIME = 'newrelic_application_queue_time_seconds';
const COMPONENT_TIME = 'newrelic_application_component_time_seconds';
const TOTAL_TIME = 'newrelic_application_total_time_seconds';

/** The breakdowns of an answer's applications, by {@link breakdownKey}. */
export function breakdownsOf(blocks: readonly Block[]): ReadonlyMap<string, Breakdown> {
  const samples = new Map<string, Sample[]>();
  for (const { labels, samples: more } of blocks) {
    const { account = '', app_id: applicationId = '' } = labels;
    const key = breakdownKey(account, applicationId);
    samples.set(key, [...(samples.get(key) ?? []), ...readSamples(more)]);
  }
  return new Map(Array.from(samples, ([key, ofApplication]) => [key, makeUp(ofApplication)]));
}

export function breakdownKey(account: string, applicationId: string | number): string {
  return `${applicationId}/${account}`;
}

function makeUp(samples: readonly Sample[]): Breakdown {
  const valueOf = (name: string) => samples.find(({ family }) => family.name === name)?.value;
  const part = (
    kind: BreakdownPart['kind'],
    name: string,
    metric: string,
    seconds: number | undefined,
  ): BreakdownPart[] => (seconds === undefined ? [] : [{ kind, name, metric, seconds }]);
  const components = samples
    .filter(({ family }) => family.name === COMPONENT_TIME)
    .flatMap(({ labels, value }) => part('component', labels?.component ?? '', COMPONENT_TIME, value))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    responseTime: valueOf(RESPONSE_TIME),
    parts: [
      ...part('queue', 'Request queueing', QUEUE_TIME, valueOf(QUEUE_TIME)),
      ...components,
      ...part('total', 'Application code', TOTAL_TIME, valueOf(TOTAL_TIME)),
    ],
  };
}
