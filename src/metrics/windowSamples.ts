import { apdexScore } from '../formulas/apdex.ts';
import { componentCalls } from '../formulas/componentCalls.ts';
import { componentTime } from '../formulas/componentTime.ts';
import { cpuRatio } from '../formulas/cpu.ts';
import { databaseMetrics } from '../formulas/databaseKind.ts';
import type { DatabaseChoice } from '../formulas/databaseKind.ts';
import { endUserResponseTime, pageViews } from '../formulas/endUser.ts';
import { errorRatio } from '../formulas/errorRatio.ts';
import { errorsPerSecond } from '../formulas/errorsPerSecond.ts';
import type { MetricWindow, WindowValues } from '../formulas/inputs.ts';
import { memoryBytes } from '../formulas/memory.ts';
import { queueTime } from '../formulas/queueTime.ts';
import { requestRate } from '../formulas/requestRate.ts';
import { responseTime } from '../formulas/responseTime.ts';
import type { TimedCalls } from '../formulas/timeShare.ts';
import { totalTime } from '../formulas/totalTime.ts';
import { METRIC } from '../formulas/names.ts';
import { webTransactionTime } from '../formulas/webTransactionTime.ts';
import { WINDOW } from './catalogueWindow.ts';
import { componentLabels } from './componentLabels.ts';
import type { WindowFamilies } from './catalogueWindow.ts';
import type { Scope } from './family.ts';
import { SampleList } from './sampleList.ts';
import type { Family, Sample } from './sample.ts';

/** Stands for a metric that upstream did not answer; its length divides nothing. */
const NOT_ANSWERED: MetricWindow = { seconds: 60, values: {} };

const ZONES = [
  { value: 's', labels: { zone: 'satisfied' } },
  { value: 't', labels: { zone: 'tolerating' } },
  { value: 'f', labels: { zone: 'frustrated' } },
] as const;

/**
 * The window samples (contract 5.4) of one application or host, in base units. `database` is the kind that counts for
 * the application; undefined when it is not known yet: then there are no components and no total time.
 */
export function windowSamples(scope: Scope, values: WindowValues, database: DatabaseChoice | undefined): Sample[] {
  const families = WINDOW[scope];
  const samples = new SampleList();
  addWebTimes(samples, families, values);
  if (database !== undefined) addComponents(samples, families, values, database);
  addRates(samples, families, values);
  addErrors(samples, families, values, scope);
  addApdex(samples, values, METRIC.apdex, families.apdexScore, families.apdexThreshold, families.apdexRequests);
  addEndUser(samples, families, values);
  addMachine(samples, families, values, scope);
  return samples.list;
}

function addWebTimes(samples: SampleList, families: WindowFamilies, values: WindowValues): void {
  const web = windowOf(values, METRIC.web).values;
  const calls = web['call_count'];
  const averageResponseTime = web['average_response_time'];
  const queue = timedCalls(values, METRIC.queue);
  const averageCallTime = web['average_call_time'];
  samples.add(families.responseTime, responseTime({ calls, averageCallTime, averageResponseTime }, queue));
  samples.add(families.webTransactionTime, webTransactionTime(averageResponseTime, calls));
  samples.add(families.queueTime, queueTime(queue, calls));
}

function addComponents(
  samples: SampleList,
  families: WindowFamilies,
  values: WindowValues,
  database: DatabaseChoice,
): void {
  const web = windowOf(values, METRIC.web).values;
  const webRequests = web['call_count'];
  const names = [...databaseMetrics(values, database), METRIC.memcache, METRIC.external];
  const components = names.map((name) => ({ name, timed: timedCalls(values, name) }));
  for (const { name, timed } of components) {
    const labels = componentLabels(name);
    samples.add(families.componentTime, componentTime(timed, webRequests), labels);
    samples.add(families.componentCalls, componentCalls(timed.calls, windowOf(values, name).seconds), labels);
  }
  const totals = {
    webRequests,
    totalAverage: windowOf(values, METRIC.totalTime).values['average_response_time'],
    webAverage: web['average_response_time'],
  };
  const timed = components.map((component) => component.timed);
  samples.add(families.totalTime, totalTime(totals, timed));
}

function addRates(samples: SampleList, families: WindowFamilies, values: WindowValues): void {
  samples.add(families.webRequests, rateOf(windowOf(values, METRIC.web)));
  samples.add(families.nonWebRequests, rateOf(windowOf(values, METRIC.nonWeb)));
}

function addErrors(samples: SampleList, families: WindowFamilies, values: WindowValues, scope: Scope): void {
  const errors = windowOf(values, METRIC.errors);
  const counts = {
    scope,
    answered: values.has(METRIC.errors),
    errorCount: errors.values['error_count'],
    webCalls: windowOf(values, METRIC.web).values['call_count'],
    otherCalls: windowOf(values, METRIC.nonWeb).values['call_count'],
  };
  samples.add(families.errorRatio, errorRatio(counts));
  samples.add(families.errors, errorsPerSecond(counts, errors.seconds));
}

function addApdex(
  samples: SampleList,
  values: WindowValues,
  metric: string,
  score: Family,
  threshold: Family,
  requests: Family,
): void {
  const apdex = windowOf(values, metric).values;
  const { s: satisfied, t: tolerating, f: frustrated } = apdex;
  samples.add(score, apdexScore({ score: apdex['score'], count: apdex['count'], satisfied, tolerating, frustrated }));
  samples.add(threshold, apdex['threshold']);
  for (const { value, labels } of ZONES) samples.add(requests, apdex[value], labels);
}

function addEndUser(samples: SampleList, families: WindowFamilies, values: WindowValues): void {
  const views = timedCalls(values, METRIC.endUser);
  samples.add(families.endUserResponseTime, endUserResponseTime(views));
  samples.add(families.pageViews, pageViews(views.calls, windowOf(values, METRIC.endUser).seconds));
  const { endUserApdexScore: score, endUserApdexThreshold: threshold, endUserApdexRequests: requests } = families;
  addApdex(samples, values, METRIC.endUserApdex, score, threshold, requests);
}

function addMachine(samples: SampleList, families: WindowFamilies, values: WindowValues, scope: Scope): void {
  const memory = windowOf(values, METRIC.memory).values;
  samples.add(families.memory, memoryBytes(memory[scope === 'application' ? 'total_used_mb' : 'used_mb_by_host']));
  samples.add(families.cpu, cpuRatio(windowOf(values, METRIC.cpu).values['percent']));
}

function windowOf(values: WindowValues, name: string): MetricWindow {
  return values.get(name) ?? NOT_ANSWERED;
}

function timedCalls(values: WindowValues, name: string): TimedCalls {
  const { values: found } = windowOf(values, name);
  return { calls: found['call_count'], averageResponseTime: found['average_response_time'] };
}

function rateOf({ values, seconds }: MetricWindow): number | undefined {
  return requestRate({ requestsPerMinute: values['requests_per_minute'], calls: values['call_count'], seconds });
}
