import { describe, expect, it } from 'vitest';
import { MetricSelector } from '../../../src/api/nerdgraph/metricSelector.ts';
import { SubjectRows, ITSELF } from '../../../src/api/nerdgraph/rows.ts';
import type { Timeslice } from '../../../src/api/types.ts';
import { UpstreamError } from '../../../src/api/upstreamError.ts';

const WEB = 'HttpDispatcher';
const MYSQL = 'Datastore/MySQL/allWeb';
const REDIS = 'Datastore/Redis/allWeb';

const ROW = { count: 1, sum: 1 };

function found(hosts: Readonly<Record<string, readonly string[]>>): SubjectRows {
  const result = new SubjectRows();
  for (const [host, names] of Object.entries(hosts)) {
    result.rows.set(host, new Map(names.map((name) => [name, ROW])));
  }
  return result;
}

describe('the datastores in the metrics of an application', () => {
  it.each([
    ['are empty where it has only other metrics', { [ITSELF]: [WEB] }, 0],
    ['are counted by type', { [ITSELF]: [WEB, MYSQL, REDIS] }, 2],
    ['leave out the sum of all types', { [ITSELF]: [MYSQL, 'Datastore/allWeb', 'Datastore/MySQL/all'] }, 1],
    ['are the datastores of the host with most of them', { a: [MYSQL], b: [MYSQL, REDIS], c: [WEB] }, 2],
    ['are unknown without metrics', {}, undefined],
  ])('%s', (_, hosts, expected) => {
    expect(found(hosts).countDatastores()).toBe(expected);
  });

  it('are matched with their case, which the LIKE of New Relic ignores', () => {
    const selector = new MetricSelector([], [], true);
    const candidates = [MYSQL, 'datastore/mysql/allweb', 'Datastore/allWeb'];
    expect(candidates.map((name) => selector.find(name))).toEqual([MYSQL, undefined, undefined]);
  });

  it('are unknown where the read failed, whatever was found earlier', () => {
    const failed = found({ [ITSELF]: [MYSQL] });
    failed.failure = new UpstreamError('down', { reason: 'server' });
    expect(failed.countDatastores()).toBeUndefined();
  });
});

describe('the series found for an application', () => {
  const bucket = (from: number): Timeslice => ({ from, to: from + 60, columns: ROW });
  const bucketsOf = (host: string, name: string, ...from: number[]): SubjectRows => {
    const result = new SubjectRows();
    result.buckets.set(host, new Map([[name, from.map(bucket)]]));
    return result;
  };
  const failure = (words: string) => new UpstreamError(words, { reason: 'server' });

  it('continues with the buckets of a later range, by host and metric', () => {
    const first = bucketsOf('a', WEB, 0, 60);
    for (const later of [bucketsOf('a', WEB, 120), bucketsOf('a', MYSQL, 120), bucketsOf('b', WEB, 120)])
      first.append(later);
    const timesOf = (host: string, name: string) =>
      first.buckets
        .get(host)
        ?.get(name)
        ?.map(({ from }) => from);
    expect([timesOf('a', WEB), timesOf('a', MYSQL), timesOf('b', WEB)]).toEqual([[0, 60, 120], [120], [120]]);
  });

  it('fails where a later range fails: one host, or all hosts for the first reason', () => {
    const first = bucketsOf('a', WEB, 0);
    const later = bucketsOf('a', WEB, 60);
    later.failures.set('a', failure('of one'));
    first.append(later);
    expect([first.failureOf('a')?.message, first.failureOf('b')]).toEqual(['of one', undefined]);
    for (const words of ['of all', 'of all, later']) {
      const failed = new SubjectRows();
      failed.failure = failure(words);
      first.append(failed);
    }
    expect([first.failureOf('a')?.message, first.failureOf('b')?.message]).toEqual(['of all', 'of all']);
  });
});
