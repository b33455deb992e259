/** The defaults: a plain web application. Archetypes override some properties. Times are seconds, rates per minute. */
const PLAIN = {
  /** Undefined: no web transactions. Rate 0: the metrics exist and stay at zero. */
  web: { perMinute: 240, seconds: 0.18 } as { readonly perMinute: number; readonly seconds: number } | undefined,
  background: undefined as { readonly perMinute: number; readonly seconds: number } | undefined,
  apdexTarget: 0.5,
  errorRatio: 0.01,
  /** Undefined: `WebFrontend/QueueTime` was never reported; 0: reported as zero. */
  queueSeconds: undefined as number | undefined,
  /** `WebTransactionTotalTime` as a multiple of the response time; undefined for agents that do not report it. */
  totalTimeFactor: 1 as number | undefined,
  /**
   * Calls per request and share of the response time, by the name of the component's metric. The shares of an
   * asynchronous application may add up to more than 1.
   */
  components: {} as Readonly<Record<string, readonly [callsPerRequest: number, share: number]>>,
  /** Web requests with metrics `WebTransaction/<name>` and `Apdex/<name>`. `slowness` multiplies the response time. */
  transactions: [
    { name: 'Controller/catalog/show', share: 0.5, slowness: 0.7 },
    { name: 'Controller/basket/add', share: 0.3, slowness: 0.9 },
    { name: 'Controller/checkout/pay', share: 0.2, slowness: 1.9 },
  ] as readonly { readonly name: string; readonly share: number; readonly slowness: number }[],
  /** Undefined: browser monitoring delivers nothing. */
  browser: undefined as { readonly viewsPerRequest: number; readonly seconds: number } | undefined,
  browserEnabled: false,
  endUserApdexTarget: 7,
  /** Metrics that the agent no longer collects: New Relic returns zeros. */
  retiredMetrics: [] as readonly string[],
  /** Custom metrics, reported once a minute. */
  customMetrics: [] as readonly { readonly name: string; readonly mean: number }[],
  /** The number of `Datastore/statement/...` metrics, which make the name list long. */
  statements: 0,
  instancesPerHost: 1,
  /** Port of the first instance of a host; undefined leaves the field out. */
  port: 8080 as number | undefined,
  hostsShareOneName: false,
  alertPolicy: true,
  serverSideConfig: false,
  /** The counts in the rolling summary: older bodies lack some or all. */
  summaryCounts: 'all' as 'all' | 'hosts_and_instances' | 'none',
  reporting: true,
  tags: { team: ['shop'], Environment: ['production'] } as Readonly<Record<string, readonly string[]>>,
};

/** A kind of application. */
export type Archetype = Readonly<typeof PLAIN> & {
  readonly name: string;
  readonly language: string;
  /** Differences in a world without odd names. There, traffic is high enough that one failure causes no incident. */
  readonly plain?: Partial<Archetype>;
};

function archetype(difference: Pick<Archetype, 'name' | 'language'> & Partial<Archetype>): Archetype {
  return { ...PLAIN, ...difference };
}

/**
 * The applications of the world, in order; further applications repeat the list. Together they show every difference
 * that a reader must handle.
 */
export const ARCHETYPES: readonly Archetype[] = [
  // Newer ruby agent: Datastore beside memcache, queueing, browser data, several workers on a host.
  archetype({
    name: 'Storefront',
    tags: { team: ['shop', 'web'], Environment: ['production'], 'cost center': ['12 "EU"'] },
    language: 'ruby',
    web: { perMinute: 900, seconds: 0.21 },
    background: { perMinute: 30, seconds: 1.4 },
    queueSeconds: 0.012,
    components: { 'Datastore/MySQL/allWeb': [6, 0.34], 'Memcache/allWeb': [3.5, 0.06], 'External/allWeb': [0.4, 0.18] },
    browser: { viewsPerRequest: 0.4, seconds: 2.6 },
    browserEnabled: true,
    instancesPerHost: 4,
    customMetrics: [
      { name: 'Custom/Queue/mail/depth', mean: 14 },
      { name: 'Custom/Queue/invoices/depth', mean: 3 },
      { name: 'Custom/Queue/with "quotes" and \\/depth', mean: 1 },
    ],
    plain: {
      tags: { team: ['shop', 'web'], Environment: ['production'], 'cost center': ['12'] },
      customMetrics: [
        { name: 'Custom/Queue/mail/depth', mean: 14 },
        { name: 'Custom/Queue/invoices/depth', mean: 3 },
      ],
    },
  }),
  // Several datastore types at once, and a metric name list of several pages.
  archetype({
    name: 'Checkout API',
    tags: { team: ['payments'], Environment: ['production'] },
    language: 'java',
    web: { perMinute: 620, seconds: 0.14 },
    components: {
      'Datastore/Postgres/allWeb': [4, 0.3],
      'Datastore/MongoDB/allWeb': [1.2, 0.12],
      'Datastore/Redis/allWeb': [5, 0.05],
      'External/allWeb': [1.5, 0.25],
    },
    statements: 2350,
    instancesPerHost: 2,
  }),
  // Old java agent: generic Database, no WebTransactionTotalTime, no queue metric, a summary without counts.
  archetype({
    name: 'Legacy ERP',
    tags: {},
    language: 'java',
    web: { perMinute: 75, seconds: 0.62 },
    apdexTarget: 1,
    totalTimeFactor: undefined,
    components: { 'Database/allWeb': [11, 0.55], 'External/allWeb': [0.2, 0.04] },
    summaryCounts: 'none',
    alertPolicy: false,
    port: undefined,
  }),
  // Has both Datastore and Database: only one kind counts.
  archetype({
    name: 'Reports',
    tags: { team: ['payments'], Environment: ['staging', 'production'] },
    language: 'java',
    web: { perMinute: 40, seconds: 1.3 },
    background: { perMinute: 4, seconds: 40 },
    apdexTarget: 2,
    components: { 'Datastore/JDBC/allWeb': [9, 0.6], 'Database/allWeb': [9, 0.6] },
    summaryCounts: 'hosts_and_instances',
    plain: { web: { perMinute: 150, seconds: 1.3 }, errorRatio: 0.003 },
  }),
  // Ruby agent before 3.11.0: ActiveRecord counts, Database must not.
  archetype({
    name: 'Forum',
    tags: { Environment: ['production'] },
    language: 'ruby',
    web: { perMinute: 310, seconds: 0.26 },
    queueSeconds: 0.03,
    totalTimeFactor: undefined,
    components: { 'ActiveRecord/all': [8, 0.42], 'Database/allWeb': [8.5, 0.45], 'Memcache/allWeb': [2, 0.05] },
    browser: { viewsPerRequest: 0.7, seconds: 3.4 },
    browserEnabled: true,
    instancesPerHost: 3,
  }),
  // Reports queueing as zero. Two hosts share a name. Browser monitoring is on, but has no data.
  archetype({
    name: 'Search',
    language: 'python',
    web: { perMinute: 480, seconds: 0.06 },
    apdexTarget: 0.2,
    queueSeconds: 0,
    components: { 'Datastore/Elasticsearch/allWeb': [1.1, 0.7] },
    browserEnabled: true,
    hostsShareOneName: true,
    instancesPerHost: 2,
    port: 0,
  }),
  // No datastore, no queue.
  archetype({
    name: 'Gateway',
    language: 'go',
    web: { perMinute: 1500, seconds: 0.018 },
    apdexTarget: 0.05,
    components: { 'External/allWeb': [1, 0.82] },
  }),
  // Asynchronous: the components run in parallel and add up to more than the total.
  archetype({
    name: 'Chat',
    language: 'nodejs',
    web: { perMinute: 700, seconds: 0.09 },
    totalTimeFactor: 1.15,
    components: {
      'Datastore/MongoDB/allWeb': [2, 0.7],
      'Datastore/Redis/allWeb': [4, 0.35],
      'External/allWeb': [0.8, 0.4],
    },
    browser: { viewsPerRequest: 0.2, seconds: 1.7 },
    browserEnabled: true,
    instancesPerHost: 2,
  }),
  // An unused cache still has its metric, with zeros.
  archetype({
    name: 'Blog',
    language: 'php',
    web: { perMinute: 130, seconds: 0.11 },
    components: { 'Datastore/MySQL/allWeb': [12, 0.5] },
    retiredMetrics: ['Memcache/allWeb'],
    port: undefined,
    alertPolicy: false,
  }),
  // Without errors there is no Errors/all.
  archetype({
    name: 'Billing',
    tags: { team: ['payments'], Environment: [] },
    language: 'dotnet',
    web: { perMinute: 90, seconds: 0.24 },
    errorRatio: 0,
    components: { 'Datastore/MSSQL/allWeb': [5, 0.5], 'External/allWeb': [0.3, 0.1] },
    serverSideConfig: true,
  }),
  // Background only: no HttpDispatcher, no Apdex.
  archetype({
    name: 'Nightly jobs',
    language: 'python',
    web: undefined,
    background: { perMinute: 18, seconds: 6 },
    transactions: [],
    totalTimeFactor: undefined,
    customMetrics: [
      { name: 'Custom/Queue/nightly/depth', mean: 60 },
      { name: 'Custom/Jobs/oldest_seconds', mean: 95 },
    ],
    port: undefined,
  }),
  // Background only, with web metrics at zero.
  archetype({
    name: 'Mail worker',
    language: 'ruby',
    web: { perMinute: 0, seconds: 0.1 },
    background: { perMinute: 120, seconds: 0.35 },
    components: { 'Datastore/Postgres/allWeb': [2, 0.4] },
    customMetrics: [{ name: 'Custom/Queue/outgoing/depth', mean: 230 }],
  }),
  // Does not report: gray, no summaries, no time of last report, no hosts.
  archetype({
    name: 'Retired intranet',
    language: 'php',
    reporting: false,
    alertPolicy: false,
    browserEnabled: true,
    tags: { team: ['intranet'] },
  }),
  // Shares its name with another application.
  archetype({
    name: 'Checkout API',
    language: 'go',
    web: { perMinute: 55, seconds: 0.03 },
    apdexTarget: 0.1,
    components: { 'Datastore/Postgres/allWeb': [2, 0.6] },
    plain: { name: 'Payments', web: { perMinute: 300, seconds: 0.03 }, errorRatio: 0.003 },
  }),
  // Odd characters everywhere a name can have them.
  archetype({
    name: 'Quote " back\\slash {brace} [bracket] 100% & <tag> Übergröße 日本',
    language: 'nodejs',
    web: { perMinute: 25, seconds: 0.3 },
    components: { 'Datastore/Odd [store] 50%/allWeb': [3, 0.5] },
    transactions: [{ name: 'Expressjs/GET//a "b" [c]/100%', share: 1, slowness: 1 }],
    customMetrics: [{ name: 'Custom/Gauge[bytes|host] 100%/Größe', mean: 4096 }],
    plain: {
      name: 'Partner portal',
      web: { perMinute: 200, seconds: 0.3 },
      errorRatio: 0.003,
      components: { 'Datastore/Redis/allWeb': [3, 0.5] },
      transactions: [{ name: 'Expressjs/GET//orders', share: 1, slowness: 1 }],
      customMetrics: [{ name: 'Custom/Uploads/bytes', mean: 4096 }],
    },
  }),
  // Hardly any traffic: minutes without a request.
  archetype({
    name: 'Admin panel',
    language: 'dotnet',
    web: { perMinute: 0.4, seconds: 0.4 },
    errorRatio: 0.05,
    components: { 'Datastore/MSSQL/allWeb': [20, 0.5] },
    transactions: [{ name: 'MVC/Admin/Index', share: 1, slowness: 1 }],
    // One failure of two requests would be an error ratio of 50 %.
    plain: { errorRatio: 0 },
  }),
];

/** The same applications, with names as users normally choose them. */
export const PLAIN_ARCHETYPES: readonly Archetype[] = ARCHETYPES.map((each) => ({ ...each, ...each.plain }));
