import { describe, expect, test } from 'vitest';
import type { AccountStatus } from '../../../src/collect/accountStatus.ts';
import type { Group } from '../../../src/metrics/sample.ts';
import { withBreakdowns } from '../../../src/web/statusPage/breakdown.ts';
import { statusDocument } from '../../../src/web/statusPage/statusDocument.ts';
import { served, type TestApp } from '../support/app.ts';
import {
  accountStatus,
  breakdownBlock,
  groupStatus,
  queryStatus,
  task,
  TEST_NOW,
  typeStatus,
} from '../support/collector.ts';
import { get } from '../support/http.ts';
import { failing, fleet, HOSTILE_NAMES, monitoredTypes } from './fleet.ts';

/** The page for what a test puts into the collector. */
async function pageOf(prepare: (app: TestApp) => void, query = ''): Promise<string> {
  const { app, origin } = await served();
  prepare(app);
  const got = await get(`${origin}/${query}`);
  expect(got.status).toBe(200);
  expect(app.collector.refreshes).toEqual([]);
  return got.text;
}

/** The page of one account. */
const pageOfAccount = (account: Partial<AccountStatus>) =>
  pageOf((app) => (app.collector.accounts = [accountStatus(account)]));

/** The text a reader sees, white space made one. */
function words(page: string): string {
  const text = page
    .replace(/<style>.*?<\/style>/s, '')
    .replaceAll('<wbr />', '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ');
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}

const names = (page: string) => [...page.matchAll(/<h3><bdi>([^<]*)<\/bdi><\/h3>/g)].map(([, name]) => name);
const large = (app: TestApp) => Object.assign(app.collector, fleet());

describe('the status page', () => {
  test('has a strict policy and nothing in it that the policy forbids', async () => {
    const { origin } = await served();
    const got = await get(`${origin}/`);
    expect(got.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(got.headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    );
    expect(got.text).not.toMatch(/<script| style=| on[a-z]+=|https?:\/\//);
  });

  test('shows accounts, their state, budget, pause, refusal and warnings in words', async () => {
    const page = await pageOf(large);
    expect(page).toMatch(/<a href="#account-2"><bdi>europe<.*<section class="account" id="account-2">/s);
    const text = words(page);
    expect(text).toContain(
      '2 accounts, 120 applications. 1 account cannot be read: europe . The last attempt failed for 2 tasks of production .',
    );
    expect(text).toMatch(/Account europe refused .* Account production paused/);
    expect(text).toContain('The service refused the key (401); check api_key of this account.');
    expect(text).toContain('Steady state 740 calls a minute, more than the 600 of the budget: every group gets slower');
    expect(text).toContain('Steady state 123 calls a minute Groups');
    expect(text).toContain('411 of 600 (420 in force now), 8 in flight');
    expect(text).toContain('Paused until 2026-01-01 00:00:42 UTC, 42 s from now: New Relic asked us to stop calling.');
    expect(text).toContain('Newest window served ends 2025-12-31 23:58:00 UTC, 2 min ago');
    expect(text).toContain('applications.include[2] (name "checkuot-*") matches nothing.');
    expect(text).toContain('stage = <prod>');
  });

  test('names the limit that slows the groups', async () => {
    const plan = { groups: [], callsPerMinute: 300, budget: 600, concurrencyCapacity: 200.5, slowdown: 300 / 200.5 };
    expect(words(await pageOfAccount({ plan }))).toContain(
      'Steady state 300 calls a minute, and calls at once carry 200: every group gets slower',
    );
  });

  test('shows each group with interval, effective interval, last success and entities', async () => {
    const text = words(await pageOf(large));
    expect(text).toContain(
      'application_metrics 1 min, in effect 2 min 10 s failed in 42.4 s 6 min 40 s ago 117 2 1 2 min ago',
    );
    expect(text).toContain('host_metrics 1 min not yet never 1 0 0 –');
    expect(text).toContain('metric_names 6 h OK in 1.25 s 30 s ago 1 0 0 –');
  });

  test('shows what fails, with the reason and a name, and what is slowest', async () => {
    const text = words(await pageOf(large));
    expect(text).toContain(
      'host_metrics 1 other: GET /applications/{id}/hosts/{host_id}/metrics/data.json: no answer within 10 s',
    );
    expect(text).toContain('host web-01.<b>example</b> · shop-1 1001 20 min ago nothing');
    expect(text).toContain('<script>document.title="pwned"</script> 1004 20 min ago last good values');
    expect(text).toMatch(
      /Slowest to read What Last attempt took host_metrics · host .*? 10 s application_metrics · .*? 9\.8 s applications 1\.2 s/,
    );
  });

  test('what fails alike is one row with its count and the first three names, the longest failing first', async () => {
    const alike = Array.from({ length: 200 }, (_, index) =>
      task({
        applicationId: index,
        application: `shop-${index}`,
        failures: index,
        state: index < 60 ? 'stale' : 'missing',
        reason: 'timeout',
        problem: 'no answer within 10 s',
        since: TEST_NOW - 100 - index,
      }),
    );
    const other = task({
      group: 'hosts',
      failures: 300,
      state: 'missing',
      reason: 'server',
      problem: 'GET /hosts.json: 503 (reason server)',
    });
    const text = words(await pageOfAccount({ tasks: [other, ...alike, task()] }));
    expect(text).toContain(
      'application_metrics 200 timeout: no answer within 10 s What to do shop-199 199 , shop-198 198 , shop-197 197 and 197 more 4 min 59 s ago nothing (140), last good values (60)',
    );
    // A message that says its reason does not get it in front, too.
    expect(text).toContain('hosts 1 GET /hosts.json: 503 (reason server) What to do checkout 7 20 min ago nothing');
    expect(text.indexOf('hosts 1 GET')).toBeGreaterThan(text.indexOf('application_metrics 200'));
    expect(text).toContain('up, 201 failing');
  });

  test('an account that cannot be read has a banner: since when, why, what to do, and what is served', async () => {
    const outage = {
      since: TEST_NOW - 400,
      reason: 'network' as const,
      problem: 'GET /applications.json: connection refused',
      servedUntil: TEST_NOW + 90,
    };
    const text = words(await pageOfAccount({ up: false, outage }));
    expect(text).toContain('Account production cannot be read');
    expect(text).toContain('1 account cannot be read: production .');
    expect(text).toContain(
      'The account cannot be read since 2025-12-31 23:53:20 UTC, 6 min 40 s ago. Why GET /applications.json: connection refused ' +
        'What to do Look at DNS, the proxy settings (HTTPS_PROXY) and the way to New Relic; tls.ca_file names an authority of your own. Served The last good values, at the longest until 2026-01-01 00:01:30 UTC, 1 min 30 s from now.',
    );
    const expired = { up: false, windowEnd: undefined, outage: { ...outage, servedUntil: undefined } };
    const later = words(await pageOfAccount(expired));
    expect(later).toContain('Served Nothing: there are no good values, or they are too old.');
    expect(later).toContain('Newest window served none any more');
  });

  test('a reload that failed has a banner with the faults, and the page does not say that nothing fails', async () => {
    const text = words(
      await pageOf((app) => {
        app.reloadFailure = {
          at: TEST_NOW - 60,
          diagnostics: Array.from({ length: 7 }, (_, index) => `c.yaml:${index}:1: a<b`),
        };
      }),
    );
    expect(text).toContain(
      'The last reload failed at 2025-12-31 23:59:00 UTC, 1 min ago. The exporter runs with the configuration',
    );
    expect(text).toContain('c.yaml:4:1: a<b and 2 more faults');
    expect(text).toContain('1 account, 1 application. The last reload failed.');
    expect(text).not.toContain('No failures');
    expect(words(await pageOf(() => undefined))).toContain('1 account, 1 application. No failures.');
  });

  test('tasks that took equally long are one row of the slowest, and a failure has a link to what to do', async () => {
    const batch = Array.from({ length: 40 }, (_, index) => task({ applicationId: index, seconds: 4.25 }));
    const failed = task({ applicationId: 50, reason: 'timeout', problem: 'no answer', failures: 2, seconds: 9 });
    const quick = Array.from({ length: 9 }, (_, index) => task({ seconds: 0.01 * (index + 1) }));
    const tasks = [...batch.slice(20), ...quick, ...batch.slice(0, 20), failed, task({ seconds: 0.2 })];
    const page = await pageOfAccount({ tasks });
    expect(words(page)).toMatch(/9 s .* and 39 more, each as long 4.25 s .*200 ms .*90 ms .*80 ms/);
    expect(page.match(/data-label="Last attempt took"/g)).toHaveLength(5);
    expect(page).toContain('<a href="https://docs.example/errors.md#failed-calls">What to do</a>');
  });

  test('an account that is read and warned about is not simply up, and how many applications it shows is told', async () => {
    const warnings = ['the account lists no application: look whether the key still sees all of the account'];
    const applicationCounts = { listed: 14, exported: 12, reporting: 10 };
    const page = words(await pageOfAccount({ warnings, applicationCounts }));
    expect(page).toContain('up, 1 warning');
    expect(page).toContain('12 exported of 14 listed, 10 of them report');
    expect(page).not.toContain('No failures');
  });

  test.each([
    [[], '', ''],
    [['queries'], ': queries only', ', 1 query'],
    [['entities', 'golden_metrics'], ': entities only', ', 1,015 entities'],
    [['entities', 'golden_metrics', 'queries'], ': entities and queries only', ', 1,015 entities, 1 query'],
  ] as const)('an account with the groups %j has no applications to wait for%s', async (groups, only, content) => {
    const reads = new Set<Group>(groups);
    const page = await pageOfAccount({
      groups: groups.map((group) => groupStatus({ group })),
      applications: undefined,
      entities: reads.has('entities') ? [...monitoredTypes(), typeStatus()] : [],
      queries: reads.has('queries') ? [queryStatus()] : [],
    });
    expect(words(page)).toContain(`Applications none${only} Newest`);
    expect(words(page)).toContain(`1 account${content}. No failures.`);
    expect(words(page)).not.toContain('Response time of each application');
  });

  test('what each account has is counted in the first line', async () => {
    const text = words(await pageOf((app) => Object.assign(app.collector, failing(0))));
    expect(text).toContain('2 accounts, 200 applications, 1,012 entities. ');
  });

  test.each([
    [
      400,
      'New Relic ends the REST API (v2) of this account on 2027-02-05, in 400 days; without api: rest NerdGraph is read.',
      '',
    ],
    [
      1,
      'New Relic ends the REST API (v2) of this account on 2026-01-02, in 1 day; without api: rest NerdGraph is read.',
      'warn',
    ],
    [-1, 'Ended. New Relic ends the REST API (v2) of this account on 2025-12-31: remove api: rest .', 'bad'],
  ])('an interface that ends in %d days is named with the days left', async (days, sentence, notice) => {
    const endOfLife = TEST_NOW + days * 86_400;
    const page = await pageOfAccount({ api: 'rest', endOfLife });
    expect(words(page)).toContain(sentence);
    expect(words(page)).toContain('Interface REST API (v2)');
    expect(page.includes('<p class="notice')).toBe(notice !== '');
    expect(page.includes(`<p class="notice ${notice}">`)).toBe(notice !== '');
  });

  test('an interface without an end is named alone', async () => {
    const page = await pageOfAccount({ api: 'nerdgraph' });
    expect(words(page)).toContain('Interface NerdGraph');
    expect(words(page)).not.toContain('New Relic ends');
  });

  test('escapes every name', async () => {
    const page = await pageOf((app) => Object.assign(app.collector, fleet(30)));
    for (const name of HOSTILE_NAMES) {
      expect(words(page)).toContain(name.trim());
    }
    expect(page).not.toMatch(/<script|<img|<b>example|DROP TABLE applications; --'/);
    expect(page.match(/<style>/g)).toHaveLength(1);
  });

  test('escapes what is searched for', async () => {
    const page = await pageOf(large, '?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E');
    expect(page).toContain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
    expect(page).not.toContain('<script');
  });

  test('before anything was read it says so', async () => {
    const groups = [groupStatus({ lastSuccess: undefined, success: undefined })];
    const fresh = accountStatus({ up: false, applications: undefined, tasks: [], windowEnd: undefined, groups });
    const text = words(await pageOf((app) => Object.assign(app.collector, { accounts: [fresh], blocks: [] })));
    expect(text).toContain('Account production not read yet');
    expect(text).toContain('Newest window served none yet');
    expect(text).toContain('No application list has been read yet; a scrape of the metrics reads it.');
  });
});

describe('the response-time breakdown', () => {
  const one = (times: Parameters<typeof breakdownBlock>[3]) => (app: TestApp) =>
    (app.collector.blocks = [breakdownBlock('production', 7, 'checkout', times)]);

  test('is a stacked bar with its parts in words, queueing first, application code last', async () => {
    const page = await pageOf(
      one({ response: 0.2, queue: 0.02, components: { External: 0.04, 'Datastore/MySQL': 0.06 }, total: 0.08 }),
    );
    const bars = [...page.matchAll(/<rect class="(\w+)" x="([\d.]+)" y="0" width="([\d.]+)"/g)].map((match) =>
      match.slice(1),
    );
    expect(bars).toEqual([
      ['queue', '0.00', '100.00'],
      ['c0', '100.00', '300.00'],
      ['c1', '400.00', '200.00'],
      ['total', '600.00', '400.00'],
    ]);
    expect(words(page)).toContain(
      'Request queueing 20 ms 10 % Datastore/MySQL 60 ms 30 % External 40 ms 20 % Application code 80 ms 40 %',
    );
    expect(words(page)).toContain('checkout production /7 · java 200 ms');
    expect(page).toContain(
      'aria-label="Request queueing 20 ms, Datastore/MySQL 60 ms, External 40 ms, Application code 80 ms"',
    );
  });

  test('application code below zero is told and not drawn', async () => {
    const page = await pageOf(one({ response: 0.4, components: { External: 0.55 }, total: -0.15 }));
    expect(words(page)).toContain('External 550 ms 100 % Application code -150 ms');
    expect(words(page)).toContain('Application code is below zero');
    expect(page).not.toContain('<rect class="total" x=');
    expect(page).toMatch(/<line[^>]* x1="727\.27"/);
  });

  test('each part names the metric it comes from', async () => {
    const page = await pageOf(one({ response: 0.2, queue: 0.02, components: { External: 0.04 }, total: 0.14 }));
    expect(page).toMatch(/<li title="newrelic_application_total_time_seconds">.*?<bdi>Application code<\/bdi>/s);
    expect(page).toContain('<title>External: 40 ms (newrelic_application_component_time_seconds)</title>');
  });

  test('no two parts of a bar have the same colour, however many components the page has', async () => {
    const components = (from: number, count: number) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`Datastore/${String(from + index * 8).padStart(3, '0')}`, 0.01]),
      );
    const page = await pageOf((app) => {
      const applications = [1, 2, 3].map((id) => ({ id, name: `app ${id}`, language: undefined, reporting: true }));
      app.collector.accounts = [accountStatus({ applications })];
      app.collector.blocks = applications.map(({ id, name }) =>
        breakdownBlock('production', id, name, { response: 1, components: components(id, 14), total: 0.1 }),
      );
    });
    const bars = page.split('class="bar"').slice(1);
    expect(bars).toHaveLength(3);
    for (const bar of bars) {
      const used = [...bar.matchAll(/<rect class="(\w+)" x=/g)].map(([, colour]) => colour);
      expect(used).toHaveLength(15);
      expect(new Set(used).size).toBe(15);
    }
  });

  test('a component keeps its colour over the page', async () => {
    const page = await pageOf((app) => {
      app.collector.accounts = [
        accountStatus({
          applications: [7, 8].map((id) => ({ id, name: `app ${id}`, language: undefined, reporting: true })),
        }),
      ];
      app.collector.blocks = [
        breakdownBlock('production', 7, 'app 7', {
          response: 1,
          components: { 'Datastore/MySQL': 0.5, External: 0.5 },
        }),
        breakdownBlock('production', 8, 'app 8', { response: 1, components: { External: 1 } }),
      ];
    });
    expect(page.match(/<rect class="c1" x=[^>]*>\s*<title>External/g)).toHaveLength(2);
  });

  test.each([
    [{ reporting: false }, {}, 'No breakdown: it does not report, so no metric data are read.'],
    [{}, { state: 'missing', problem: 'no answer within 10 s' } as const, 'No breakdown: no answer within 10 s'],
    [{}, { state: 'missing' } as const, 'No breakdown: its metric data have not been read yet.'],
    [{}, {}, 'No breakdown: it had no web transactions in the window.'],
  ])('where there is none the reason stands there: %j %j', async (application, work, reason) => {
    const text = words(
      await pageOf((app) => {
        app.collector.blocks = [];
        app.collector.accounts = [
          accountStatus({
            applications: [{ id: 7, name: 'checkout', language: 'java', reporting: true, ...application }],
            tasks: [task(work)],
          }),
        ];
      }),
    );
    expect(text).toContain(reason);
  });

  test('the slowest application is first, those without a breakdown last', async () => {
    const shown = names(await pageOf((app) => Object.assign(app.collector, fleet(16))));
    expect(shown.slice(0, 3)).toEqual([HOSTILE_NAMES[2].replaceAll("'", '&#39;'), HOSTILE_NAMES[7], 'shop-1']);
    expect(shown.at(-1)).toBe('shop-14');
  });

  test('is searched by name, account and id, in pages of 50', async () => {
    const first = await pageOf(large);
    expect(names(first)).toHaveLength(50);
    expect(first).toContain('href="/?page=2#applications"');
    expect(names(await pageOf(large, '?page=3'))).toHaveLength(20);
    for (const page of ['99', '0', '-1', 'x', '1e9'])
      expect(names(await pageOf(large, `?page=${page}`)).length).toBeGreaterThan(0);
    const found = await pageOf(large, '?q=SHOP-9');
    expect(names(found).toSorted()).toEqual(Array.from({ length: 10 }, (_, index) => `shop-9${index}`));
    expect(words(found)).toContain('10 of 120 applications');
    expect(names(await pageOf(large, '?q=1077'))).toEqual(['shop-77']);
    expect(await pageOf(large, '?q=shop&page=2')).toContain('href="/?q=shop&amp;page=1#applications"');
    expect(words(await pageOf(large, '?q=nowhere'))).toContain('No application matches "nowhere".');
  });
});

describe('/api/status', () => {
  test('tells the interface of each account and when it ends', async () => {
    const { app, origin } = await served();
    app.collector.accounts = [
      accountStatus({ api: 'rest', endOfLife: 1_816_992_000 }),
      accountStatus({ name: 'new', api: 'nerdgraph' }),
    ];
    expect(JSON.parse((await get(`${origin}/api/status`)).text)).toMatchObject({
      accounts: [
        { api: 'rest', api_end_of_life: 1_816_992_000 },
        { api: 'nerdgraph', api_end_of_life: null },
      ],
    });
  });

  test('tells a failed reload, an account that cannot be read, and failures by reason', async () => {
    const { app, origin } = await served();
    const outage = {
      since: TEST_NOW - 60,
      reason: 'auth' as const,
      problem: '401',

      servedUntil: undefined,
    };
    const failing = [1, 2].map((failures) => task({ failures, reason: 'timeout', problem: 'no answer' }));
    app.collector.accounts = [accountStatus({ up: false, outage, tasks: failing })];
    const status = async (): Promise<unknown> => JSON.parse((await get(`${origin}/api/status`)).text);
    expect(await status()).toMatchObject({
      reload_failure: null,
      accounts: [
        {
          outage: {
            since: TEST_NOW - 60,
            reason: 'auth',
            problem: '401',
            remedy: expect.stringContaining('NRAK-') as unknown,
            last_good_values_until: null,
          },
          failures: [
            {
              group: 'application_metrics',
              reason: 'timeout',
              problem: 'no answer',
              count: 2,
              failures: 2,
              since: TEST_NOW - 1_200,
            },
          ],
        },
      ],
    });
    app.reloadFailure = { at: TEST_NOW, diagnostics: ['c.yaml:1:1: a: b'] };
    app.collector.accounts = [accountStatus()];
    expect(await status()).toMatchObject({
      reload_failure: { at: TEST_NOW, faults: ['c.yaml:1:1: a: b'] },
      accounts: [{ outage: null, failures: [] }],
    });
  });

  test('is written in small parts, whatever the number of applications and tasks', async () => {
    const [application] = accountStatus().applications ?? [];
    const many = { tasks: Array.from({ length: 500 }, () => task()), applications: Array(500).fill(application) };
    const accounts = [accountStatus(many), accountStatus({ name: 'b', tasks: [], applications: undefined })];
    const shown = await withBreakdowns(accounts, [], new AbortController().signal);
    const parts = [...statusDocument(shown, undefined, '1.2.3', TEST_NOW)];
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(10_000);
    const document = JSON.parse(parts.join('')) as {
      accounts: Record<'entities' | 'applications', unknown[] | null>[];
    };
    expect(document.accounts.map(({ entities, applications }) => [entities?.length, applications?.length])).toEqual([
      [500, 500],
      [0, undefined],
    ]);
  });

  test('says the same as JSON and calls nothing upstream', async () => {
    const { app, origin } = await served();
    const got = await get(`${origin}/api/status`);
    expect(got.headers['content-type']).toMatch(/^application\/json/);
    expect(app.collector.refreshes).toEqual([]);
    const document = JSON.parse(got.text) as { accounts: { groups: unknown[] }[] };
    expect(document).toMatchObject({
      version: '1.2.3',
      now: 1_767_225_600,
      accounts: [
        {
          name: 'production',
          labels: { team: 'payments' },
          up: true,
          refused: null,
          window_end: 1_767_225_480,
          warnings: [],
          budget: {
            requests_per_minute: 600,
            requests_per_minute_in_force: 600,
            requests_in_last_minute: 123,
            requests_in_flight: 2,
            paused_until: null,
          },
          plan: { requests_per_minute: 123.4, stretch: 1 },
          applications: [
            {
              id: 7,
              name: 'checkout',
              language: 'java',
              reporting: true,
              response_time_seconds: 0.25,
              breakdown: [
                {
                  kind: 'queue',
                  name: 'Request queueing',
                  metric: 'newrelic_application_queue_time_seconds',
                  seconds: 0.01,
                },
                { kind: 'component', name: 'Datastore/MySQL', seconds: 0.09 },
                { kind: 'component', name: 'External', seconds: 0.05 },
                { kind: 'total', name: 'Application code', seconds: 0.1 },
              ],
            },
          ],
          entities: [{ group: 'applications', state: 'fresh', failures: 0, problem: null, seconds: 0.21 }],
        },
      ],
    });
    expect(document.accounts[0]?.groups[0]).toEqual({
      group: 'applications',
      interval_seconds: 60,
      effective_interval_seconds: 60,
      success: true,
      last_success: 1_767_225_570,
      duration_seconds: 1.25,
      entities: { fresh: 1, stale: 0, missing: 0 },
      oldest_window_end: 1_767_225_480,
    });
  });
});

describe('the entities of an account', () => {
  test('are shown by type: what is listed, left out and why, the golden metrics, their age and failures', async () => {
    const text = words(await pageOfAccount({ entities: monitoredTypes() }));
    expect(text).toContain(
      'EXT-SERVICE 12 exported of 12 listed, 12 of them report 2 read errorRate throughput 2 40 s ago 3 min 20 s ago OK',
    );
    expect(text).toContain(
      'throughputPpm errors : its definition begins another clause with LIMIT firstInputDelay : graphql:golden_metrics: NRQL Syntax Error: line 1 position 41',
    );
    expect(text).toContain(
      '1,000 exported of 1,240 listed, 988 of them report; 90 filtered out; 150 beyond max_entities 3 read, 3 problems largestContentfulPaint75PercentileS',
    );
    expect(text).toContain(
      '2940 6 min 40 s ago 3 min 20 s ago golden metrics of 48 of 988 entities failed INFRA-HOST not read yet none 0 – never graphql:entities: the list has 12,400 entities, and at most 10,000 are read',
    );
  });

  test('are named where they fail, as their lists are', async () => {
    const ofEntity = { entityType: 'EXT-SERVICE', entityGuid: 'MTIz', entity: 'cart-<b>api</b>' };
    const none = { applicationId: undefined, application: undefined, problem: 'timed out', reason: 'timeout' as const };
    const tasks = [
      task({ ...none, ...ofEntity, group: 'golden_metrics', failures: 2 }),
      task({ ...none, entityType: 'INFRA-HOST', group: 'entities', failures: 1 }),
    ];
    const text = words(await pageOfAccount({ tasks }));
    expect(text).toContain('golden_metrics 1 timeout: timed out What to do cart-<b>api</b> · EXT-SERVICE 20 min ago');
    expect(text).toContain('entities 1 timeout: timed out What to do INFRA-HOST 20 min ago');
    const list = task({ ...none, group: 'applications', failures: 5 });
    const listed = words(await pageOfAccount({ tasks: [list, { ...list, applicationId: 7, application: 'shop' }] }));
    expect(listed).toContain('applications 2 timeout: timed out What to do the list of the account, shop 7');
  });

  test('are in the JSON with every figure', async () => {
    const { app, origin } = await served();
    const [, browsers] = monitoredTypes();
    app.collector.accounts = [accountStatus({ entities: [browsers ?? typeStatus()] })];
    const { accounts } = JSON.parse((await get(`${origin}/api/status`)).text) as { accounts: unknown[] };
    expect(accounts).toMatchObject([
      {
        entity_types: [
          {
            ...{ type: 'BROWSER-APPLICATION', state: 'fresh', success: true, duration_seconds: 0.4, problem: null },
            ...{ last_success: TEST_NOW - 200, listed: 1_240, exported: 1_000, reporting: 988 },
            left_out: { by_configuration: 90, by_max_entities: 150 },
            metrics: ['largestContentfulPaint75PercentileS', 'pageLoadSeconds', 'throughputPpm'],
            metric_problems: [
              { metric: 'errors', problem: 'its definition begins another clause with LIMIT' },
              { metric: 'firstInputDelay' },
              { metric: HOSTILE_NAMES[0] },
            ],
            ...{
              series: 2_940,
              oldest_value: TEST_NOW - 400,
              oldest_window_end: TEST_NOW - 160,
              golden_metrics_failing: 48,
            },
            golden_metrics: { fresh: 940, stale: 40, missing: 8 },
          },
        ],
      },
    ]);
  });
});

describe('the queries of an account', () => {
  const query = queryStatus({ nrql: "SELECT count(*) FROM Order WHERE a < '<b>'" });

  test('are shown with their text, rows and series, and why one failed', async () => {
    const failed = { ...query, name: 'broken', success: false, problem: 'graphql:queries: too many rows' };
    const page = await pageOfAccount({ queries: [query, failed] });
    expect(words(page)).toContain("orders SELECT count(*) FROM Order WHERE a < '<b>' 12 11");
    expect(words(page)).toContain('graphql:queries: too many rows');
  });

  test('say how long ago the windows of their rows ended', async () => {
    const page = await pageOfAccount({ queries: [{ ...query, windowEnd: TEST_NOW - 14_400 }] });
    expect(words(page)).toContain('30 s ago , of a window that ended 4 h ago OK');
  });

  test('are shown without the secrets in their text', async () => {
    const page = await pageOfAccount({ queries: [{ ...query, nrql: "SELECT a FROM T WHERE k = 'NRAK-0'" }] });
    expect(words(page)).toContain("SELECT a FROM T WHERE k = '<secret>'");
  });
});
