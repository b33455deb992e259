/** A part of the time of web requests that is reported as a metric of its own. */
export interface Component {
  /** The whole metric name, as `Datastore/MySQL/allWeb`. */
  readonly metric: string;
  readonly callsPerRequest: number;
  /** Share of the response time; the shares of an asynchronous application may add up to more than 1. */
  readonly share: number;
}

/** A kind of web request, with a metric `WebTransaction/<name>` and an `Apdex/<name>`. */
interface Transaction {
  readonly name: string;
  readonly share: number;
  /** Its response time as a multiple of the application's. */
  readonly slowness: number;
}

/** A metric the application's own code reports once a minute. */
interface CustomMetric {
  readonly name: string;
  readonly mean: number;
}

/** Everything that tells one kind of monitored application from another. Times are seconds, rates per minute. */
export interface Archetype {
  readonly name: string;
  readonly language: string;
  /** Undefined: no web transactions at all; rate 0: the metrics exist and stay at zero. */
  readonly web: { readonly perMinute: number; readonly seconds: number } | undefined;
  readonly background: { readonly perMinute: number; readonly seconds: number } | undefined;
  readonly apdexTarget: number;
  readonly errorRatio: number;
  /** Undefined: `WebFrontend/QueueTime` was never reported; 0: reported as zero. */
  readonly queueSeconds: number | undefined;
  /** `WebTransactionTotalTime` as a multiple of the response time; undefined for agents that do not report it. */
  readonly totalTimeFactor: number | undefined;
  readonly components: readonly Component[];
  readonly transactions: readonly Transaction[];
  /** Undefined: browser monitoring delivers nothing. */
  readonly browser: { readonly viewsPerRequest: number; readonly seconds: number } | undefined;
  readonly browserEnabled: boolean;
  readonly endUserApdexTarget: number;
  /** Metrics that exist and are no longer collected: zeros. */
  readonly retiredMetrics: readonly string[];
  readonly customMetrics: readonly CustomMetric[];
  /** How many `Datastore/statement/...` metrics it has, to make its name list long. */
  readonly statements: number;
  readonly garbageCollection: boolean;
  readonly instancesPerHost: number;
  /** Port of the first instance of a host; undefined leaves the field out. */
  readonly port: number | undefined;
  readonly hostsShareOneName: boolean;
  readonly alertPolicy: boolean;
  readonly serverSideConfig: boolean;
  /** Which counts its rolling summary has: older bodies lack some or all. */
  readonly summaryCounts: 'all' | 'hosts_and_instances' | 'none';
  readonly reporting: boolean;
}

const WEB_TRANSACTIONS: readonly Transaction[] = [
  { name: 'Controller/catalog/show', share: 0.5, slowness: 0.7 },
  { name: 'Controller/basket/add', share: 0.3, slowness: 0.9 },
  { name: 'Controller/checkout/pay', share: 0.2, slowness: 1.9 },
];

/** An archetype that differs from a plain web application in the given points. */
export function archetype(
  difference: Pick<Archetype, 'name' | 'language'> & Partial<Omit<Archetype, 'name' | 'language'>>,
): Archetype {
  return {
    web: { perMinute: 240, seconds: 0.18 },
    background: undefined,
    apdexTarget: 0.5,
    errorRatio: 0.01,
    queueSeconds: undefined,
    totalTimeFactor: 1,
    components: [],
    transactions: WEB_TRANSACTIONS,
    browser: undefined,
    browserEnabled: false,
    endUserApdexTarget: 7,
    retiredMetrics: [],
    customMetrics: [],
    statements: 0,
    garbageCollection: false,
    instancesPerHost: 1,
    port: 8080,
    hostsShareOneName: false,
    alertPolicy: true,
    serverSideConfig: false,
    summaryCounts: 'all',
    reporting: true,
    ...difference,
  };
}
