import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareTitles, compareText, goldenFamilyName, goldenHelp } from '../../src/metrics/monitoredFamilies.ts';
import { findNameProblem } from '../../src/config/schema/customMetric.ts';

describe('the family of a golden metric', () => {
  it.each([
    ['EXT-SERVICE', 'responseTimeMs', 'newrelic_ext_service_response_time_ms'],
    ['BROWSER-APPLICATION', 'firstPaint75PercentileS', 'newrelic_browser_application_first_paint75_percentile_s'],
    ['INFRA-HOST', 'cpuUsage', 'newrelic_infra_host_cpu_usage'],
    ['EXT-KEY_TRANSACTION', 'throughput', 'newrelic_ext_key_transaction_throughput'],
    ['INFRA-AZUREP2SVPNGATEWAY', 'p2sConnectionCount', 'newrelic_infra_azurep2_svpngateway_p2s_connection_count_value'],
    ['EXT-A', 'requests_count', 'newrelic_ext_a_requests_count_value'],
    ['EXT-A', 'requestsTotal', 'newrelic_ext_a_requests_total_value'],
    ['EXT-A', 'timeBucket', 'newrelic_ext_a_time_bucket_value'],
    ['EXT-A', 'bytesSum', 'newrelic_ext_a_bytes_sum_value'],
    ['EXT-A', 'timeCreated', 'newrelic_ext_a_time_created_value'],
    ['EXT-A', 'hostInfo', 'newrelic_ext_a_host_info_value'],
    ['EXT-A', 'a.b-c d%🚀é', 'newrelic_ext_a_a_b_c_d___'],
    ['EXT-A', 'CPULoad', 'newrelic_ext_a_cpuload'],
  ])('of type %s and metric %s is %s', (type, metric, name) => {
    expect(goldenFamilyName(type, metric)).toBe(name);
  });

  it('has a valid name without the suffix of a counter or histogram, or no name, whatever the metric is called', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (metric) => {
        const name = goldenFamilyName('INFRA-AWSS3BUCKET', metric);
        if (name === undefined) expect(metric.length).toBeGreaterThan(90);
        else {
          expect(findNameProblem(name)).toBeUndefined();
          expect(name.length).toBeLessThanOrEqual(200);
        }
      }),
    );
  });

  it('takes title and unit from New Relic', () => {
    const metric = { name: 'responseTimeMs', title: 'Response time', unit: 'MS' };
    expect(goldenHelp('EXT-SERVICE', metric)).toBe(
      'Response time (MS); golden metric responseTimeMs of EXT-SERVICE as New Relic defines it',
    );
  });

  it('has a HELP of one line and limited length, whatever the title', () => {
    const metric = { name: 'a\nb', title: `a\n# HELP b \u0000${'🚀'.repeat(5_000)}`, unit: 'x\u2028y' };
    const help = goldenHelp('EXT-SERVICE', metric);
    expect(help).toMatch(/^a # HELP b 🚀+… \(x y\); golden metric a b of EXT-SERVICE/u);
    expect(Array.from(help).length).toBeLessThan(300);
  });

  it('is sorted by code points, as UTF-8 is by bytes', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10ffff}'),
    });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareText(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });

  it('takes HELP from the first title and unit by code points', () => {
    const titles = ['b', '\u{1F600}', '\uFFFD', 'a'].map((title) => ({ title, unit: 'MS' }));
    expect(titles.toSorted(compareTitles).map(({ title }) => title)).toEqual(['a', 'b', '\uFFFD', '\u{1F600}']);
    expect(compareTitles({ title: 'a', unit: 'B' }, { title: 'a', unit: 'A' })).toBeGreaterThan(0);
  });
});
