import {
  APDEX_METRICS,
  applicationName,
  DATASTORE,
  hostIds,
  hostName,
  idsOnPage,
  pagesOf,
  TIMED_METRICS,
  type FleetSize,
} from './fleet.ts';

/** The number of responses that differ in all values, so that repeated calls get other values. */
const VARIANTS = 16;

const FROM = '2026-11-21T00:00:00+00:00';
const TO = '2026-11-21T00:29:59+00:00';

/** Creates metric data responses of 15 metrics with 11 values each. */
export function metricDataBodies(): readonly Buffer[] {
  return Array.from({ length: VARIANTS }, (_, variant) => {
    const metrics = [
      ...APDEX_METRICS.map((name) => ({ name, values: apdexValues(variant) })),
      ...TIMED_METRICS.map((name, index) => ({ name, values: timedValues(name, variant + index / 8) })),
    ];
    return json({
      metric_data: {
        from: FROM,
        to: TO,
        metrics_not_found: [],
        metrics_found: metrics.map(({ name }) => name),
        metrics: metrics.map(({ name, values }) => ({ name, timeslices: [{ from: FROM, to: TO, values }] })),
      },
    });
  });
}

/** A cache of series of minutes: all applications request the same range. */
const seriesBodies = new Map<string, Buffer>();

/** Returns a timeslice per minute for the metrics and the range in an address. `variant` changes all figures. */
export function seriesBody(url: string, variant: number): Buffer {
  const query = new URL(url, 'http://upstream').searchParams;
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
  const key = `${from} ${to} ${variant}`;
  const known = seriesBodies.get(key);
  if (known !== undefined) return known;
  const names = query.getAll('names[]');
  const start = Date.parse(from);
  const timeAt = (minute: number): string => new Date(start + 60_000 * minute).toISOString().replace('.000Z', '+00:00');
  const minutes = Array.from({ length: (Date.parse(to) - start) / 60_000 }, (_, index) => index);
  const metrics = names.map((name) => {
    const values = APDEX_METRICS.includes(name) ? apdexValues(variant) : timedValues(name, variant);
    return { name, timeslices: minutes.map((minute) => ({ from: timeAt(minute), to: timeAt(minute + 1), values })) };
  });
  const body = json({ metric_data: { from, to, metrics_not_found: [], metrics_found: names, metrics } });
  seriesBodies.set(key, body);
  return body;
}

/** Creates all pages of the application list. */
export function applicationPages(size: FleetSize): readonly Buffer[] {
  const { applications, hostsPerApplication } = size;
  return Array.from({ length: pagesOf(applications) }, (_, page) =>
    json({
      applications: idsOnPage(size, page).map((id) => ({
        id,
        name: applicationName(id),
        language: 'java',
        health_status: 'green',
        reporting: true,
        last_reported_at: TO,
        application_summary: { ...summary(id), host_count: hostsPerApplication, instance_count: hostsPerApplication },
        settings: { app_apdex_threshold: 0.5, end_user_apdex_threshold: 7 },
        links: { application_hosts: hostIds(id, hostsPerApplication), application_instances: [] },
      })),
    }),
  );
}

export function hostsBody(application: number, hostsPerApplication: number): Buffer {
  return json({
    application_hosts: hostIds(application, hostsPerApplication).map((id) => ({
      id,
      host: hostName(id),
      language: 'java',
      health_status: 'green',
      application_summary: summary(id),
    })),
  });
}

export const KEY_TRANSACTIONS = json({ key_transactions: [] });

export const METRIC_NAMES = json({ metrics: [{ name: DATASTORE, values: ['call_count'] }] });

function summary(id: number): Record<string, number> {
  return { response_time: 100 + (id % 50), throughput: 600, error_rate: 0.01, apdex_target: 0.5, apdex_score: 0.94 };
}

function timedValues(name: string, x: number): Record<string, number> {
  return {
    call_count: 1800 + Math.floor(x * 10),
    error_count: 3 + Math.floor(x),
    average_response_time: 100 + x / 3,
    average_call_time: 90 + x / 3,
    requests_per_minute: 60 + x / 7,
    calls_per_minute: 60 + x / 7,
    min_response_time: 1.5,
    max_response_time: 900 + x,
    ...(name === 'CPU/User Time' ? { percent: 20 + x } : { average_exclusive_time: 40 + x / 3 }),
    ...(name === 'Memory/Physical'
      ? { total_used_mb: 900 + x, used_mb_by_host: 300 + x }
      : { average_value: 0.1, sum: x }),
  };
}

function apdexValues(x: number): Record<string, number> {
  const counts = { s: 1500 + x, t: 250, f: 50, count: 1800 + x, value: 0.9 };
  return { score: 0.9, ...counts, threshold: 0.5, threshold_min: 0.5, threshold_max: 0.5, min: 0, max: 1 };
}

function json(body: object): Buffer {
  return Buffer.from(JSON.stringify(body), 'utf8');
}
