import { describe, expect, test } from 'vitest';
import type { ProbeResult } from '../../../src/collect/serve/probeResult.ts';
import { PROBE as FAMILIES } from '../../../src/metrics/catalogueExporter.ts';
import { served } from '../support/app.ts';
import { breakdownBlock } from '../support/collector.ts';
import { get } from '../support/http.ts';

const PROBE = '/probe?account=production&app_id=7';
const NO_ACCOUNT = 'The configuration has no such account';
const MANY = Array.from({ length: 12 }, (_, index) => `shop ${index}`);
const NO_APPLICATION = 'The account exports no application 7.\n';
const RESULT = { kind: 'result', success: true, blocks: [], cut: [], notes: [] } as const;

/** The response to a probe that comes to this. */
async function probed(probeResult: ProbeResult, query = '') {
  const { app, origin } = await served();
  app.collector.probeResult = probeResult;
  return await get(`${origin}${PROBE}${query}`);
}

describe('/probe', () => {
  test('answers one application’s families with probe_success and probe_duration_seconds', async () => {
    const { app, origin } = await served();
    app.collector.probeResult = { ...RESULT, blocks: [breakdownBlock('production', 7, 'checkout')] };
    const got = await get(`${origin}${PROBE}`);
    expect(got.status).toBe(200);
    expect(got.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(got.text).toContain(
      `# HELP probe_success ${FAMILIES.probe_success.help}\n# TYPE probe_success gauge\nprobe_success 1\n`,
    );
    expect(got.text).toMatch(/# TYPE probe_duration_seconds gauge\nprobe_duration_seconds 0\n/);
    expect(got.text).toContain('newrelic_application_response_time_seconds{account="production"');
    expect(got.text).not.toContain('newrelic_up');
    expect(app.collector.probes).toEqual([{ account: 'production', applicationId: 7, waitMs: 9_500 }]);
  });

  test('declares its own families in OpenMetrics too', async () => {
    const { origin } = await served();
    const got = await get(`${origin}${PROBE}`, { headers: { accept: 'application/openmetrics-text;version=1.0.0' } });
    expect(got.text).toContain('# TYPE probe_success gauge\n');
    expect(got.text).toContain('# UNIT probe_duration_seconds seconds\n');
    expect(got.text).toMatch(/# EOF\n$/);
  });

  test('waits no longer than the scraper’s timeout', async () => {
    const { app, origin } = await served();
    await get(`${origin}${PROBE}`, { headers: { 'X-Prometheus-Scrape-Timeout-Seconds': '3' } });
    expect(app.collector.probes[0]?.waitMs).toBe(2_500);
  });

  test('leaves out the time that the last probe took to write; a HEAD changes no time', async () => {
    let took = 1_500;
    const { app, origin } = await served({ dependencies: { dropped: () => void (app.clock += took) } });
    await get(`${origin}${PROBE}`);
    took = 0;
    await get(`${origin}${PROBE}`, { method: 'HEAD' });
    await get(`${origin}${PROBE}`);
    expect(app.collector.probes.map(({ waitMs }) => waitMs)).toEqual([9_500, 9_500 - 1_500, 9_500 - 1_500]);
  });

  test.each<[what: string, result: ProbeResult, status: number, text: string]>([
    ['a read failed', { ...RESULT, success: false }, 200, '\nprobe_success 0\n'],
    ['no list can be read', { kind: 'unreadable', notes: ['503'] }, 200, '\nprobe_success 0\n'],
    ['there is no account', { kind: 'unknown_account', known: [] }, 404, `${NO_ACCOUNT}.\n`],
    [
      'there is no such account',
      { kind: 'unknown_account', known: ['production', 'a "b" NRAK-0'] },
      404,
      `${NO_ACCOUNT}; its accounts are "production", "a \\"b\\" <secret>".\n`,
    ],
    [
      'there is no such account among many',
      { kind: 'unknown_account', known: MANY },
      404,
      `${NO_ACCOUNT}; its accounts are "shop 0", "shop 1", "shop 2", "shop 3", "shop 4", "shop 5", "shop 6", "shop 7", "shop 8", "shop 9" and 2 more.\n`,
    ],
    ['there is no such application', { kind: 'unknown_application' }, 404, NO_APPLICATION],
  ])('when %s, says so with the right status', async (_, result, status, text) => {
    const got = await probed(result);
    expect([got.status, got.text]).toEqual([status, expect.stringContaining(text)]);
    expect(got.headers['content-type']).toMatch(/^text\/plain; .*charset=utf-8$/);
  });

  test.each([
    ['', 'The parameter account is missing'],
    ['?account=&app_id=7', 'The parameter account is missing'],
    ['?account=production', 'The parameter app_id is missing: it must be the id of an application; /sd lists them.'],
    ['?account=a&account=b&app_id=7', 'The parameter account must occur only once'],
    ['?account=production&app_id=http://evil.example/', 'The parameter app_id must be the id'],
    ['?account=production&app_id=0', 'The parameter app_id must be the id'],
    ['?account=production&app_id=7.0', 'The parameter app_id must be the id'],
    ['?account=production&app_id=9007199254740993', 'The parameter app_id must be the id'],
    ['?account=production&app_id=7&debug=maybe', 'The parameter debug must be true or false; it is "maybe".'],
    ['?account=production&app_id=7&debug=', 'The parameter debug is missing: it must be true or false.'],
  ])('answers 400 with a reason to %s', async (query, reason) => {
    const { app, origin } = await served();
    const got = await get(`${origin}/probe${query}`);
    expect(got.status).toBe(400);
    expect(got.text).toContain(reason);
    expect(app.collector.probes).toEqual([]);
  });

  test('debug=true answers with one line for each note, followed by the metrics', async () => {
    const blocks = [breakdownBlock('production', 7, 'checkout')];
    const notes = ['GET /applications.json: 200, 12 applications', 'newrelic_host_info is absent:\nhosts are off'];
    const got = await probed({ ...RESULT, success: false, blocks, notes }, '&debug=true');
    expect(got.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(got.text).toContain(
      'Probe of application 7 of account "production"\nSomething failed. The probe took 0.000 s.\n',
    );
    expect(got.text).toContain('- GET /applications.json: 200, 12 applications\n');
    expect(got.text).toContain('- newrelic_host_info is absent: hosts are off\n');
    expect(got.text).toContain('probe_success 0\n');
    expect(got.text).toContain('newrelic_application_response_time_seconds{');
  });

  test('debug=true answers plain text, whatever formats and compressions are accepted', async () => {
    const { origin } = await served();
    const headers = { Accept: 'application/openmetrics-text', 'Accept-Encoding': 'gzip' };
    const got = await get(`${origin}${PROBE}&debug=true`, { headers });
    expect([got.headers['content-type'], got.headers['content-encoding']]).toEqual([
      'text/plain; charset=utf-8',
      undefined,
    ]);
    expect(got.text).toMatch(/^Probe of application 7 /);
    expect(got.text).not.toContain('# EOF');
    expect((await get(`${origin}${PROBE}&debug=false`, { headers })).headers['content-encoding']).toBe('gzip');
  });

  test('debug=true puts each note on one line, however much white space New Relic sends', async () => {
    const notes = [`status 500: ${'\t'.repeat(60_000)}x\n \n  y`];
    const got = await probed({ kind: 'unreadable', notes }, '&debug=true');
    expect(got.text).toMatch(/\n- status 500: \t+x {2}y\n/);
  });

  test('debug=true says when no list can be read', async () => {
    const got = await probed({ kind: 'unreadable', notes: ['applications: missing'] }, '&debug=true');
    expect(got.status).toBe(200);
    expect(got.text).toContain(
      'The list of applications was not read. The probe took 0.000 s.\n\n- applications: missing\n',
    );
    expect(got.text).toContain('probe_success 0\n');
  });
});
