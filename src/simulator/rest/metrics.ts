import { metricData } from './metricData.ts';
import { resolveRange } from './range.ts';
import { parseTimestamp } from './timestamp.ts';
import type { Scope } from '../world/scope.ts';
import { isListed, MINUTE } from '../world/time.ts';
import { valueNames } from '../world/values.ts';
import type { Answer } from '../wire/answer.ts';
import { failure, notFound, ok } from '../wire/answer.ts';
import type { Call } from './call.ts';
import { isTrue } from './filters.ts';
import { paginate } from './pagination.ts';

const NAMES_PER_PAGE = 1000;

function scopeOf({ world, route }: Call): Scope | undefined {
  const { applicationId, hostId, instanceId } = route;
  if (applicationId === undefined) return undefined;
  return world.scope({
    application: applicationId,
    ...(hostId === undefined ? {} : { host: hostId }),
    ...(instanceId === undefined ? {} : { instance: instanceId }),
  });
}

/** The metric names of an application, host or instance, narrowed with `name` (whatever its case). */
export function metricNames(call: Call): Answer {
  const scope = scopeOf(call);
  if (scope === undefined) return notFound();
  const { origin, path, query, settings, pageFault } = call;
  const part = (query.get('name') ?? '').toLowerCase();
  const found = isListed(scope.application, call.now)
    ? call.world.metrics(scope).filter(({ name }) => name.toLowerCase().includes(part))
    : [];
  const page = paginate(found, {
    origin,
    path,
    query,
    size: NAMES_PER_PAGE,
    keepFilters: settings.linksKeepFilters,
    cursor: settings.endOfNames,
    fault: pageFault,
  });
  return ok({ metrics: page.items.map(({ name, kind }) => ({ name, values: [...valueNames(kind)] })) }, page.link);
}

/** A parameter that may be absent but not malformed: `bad` then. */
function timestamp(query: URLSearchParams, name: string): number | 'bad' | undefined {
  const text = query.get(name);
  return text === null || text === '' ? undefined : (parseTimestamp(text) ?? 'bad');
}

/** Metric timeslices of an application, host or instance. */
export function metricTimeslices(call: Call): Answer {
  const scope = scopeOf(call);
  if (scope === undefined) return notFound();
  const { query, now } = call;
  const names = query.getAll('names[]').filter((name) => name !== '');
  if (names.length === 0) return failure(400, 'Bad Request', ['names[] is required']);
  const from = timestamp(query, 'from');
  const to = timestamp(query, 'to');
  if (from === 'bad' || to === 'bad') {
    return failure(400, 'Bad Request', [`${from === 'bad' ? 'from' : 'to'} must be an ISO 8601 timestamp`]);
  }
  const period = query.get('period');
  if (period !== null && !/^[1-9]\d{0,8}$/.test(period)) {
    return failure(422, 'Invalid parameters', ['period must be a whole number of seconds']);
  }
  const range = resolveRange(
    { from, to, period: period === null ? undefined : Number(period), summarize: isTrue(query, 'summarize') },
    now,
  );
  if (range.to - range.from < MINUTE) {
    return failure(422, 'Invalid time range', ['The time range must be at least one minute']);
  }
  const rounded = call.settings.rounding && !isTrue(query, 'raw');
  const body = metricData(
    call.world,
    scope,
    { names, values: query.getAll('values[]'), range, rounded, inclusiveTo: call.settings.inclusiveTo },
    now,
  );
  return ok({
    metric_data: {
      from: body.from,
      to: body.to,
      ...(call.settings.metricsFound
        ? { metrics_not_found: body.metrics_not_found, metrics_found: body.metrics_found }
        : {}),
      metrics: body.metrics.map(({ name, timeslices }) => ({
        name,
        timeslices: timeslices.map((slice) => ({ from: slice.from, to: slice.to, values: slice.values })),
      })),
    },
  });
}
