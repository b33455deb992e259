import { REMEDIES } from '../../../src/api/upstreamError.ts';
import { describe, expect, test } from 'vitest';
import type { AccountStatus } from '../../../src/collect/serve/accountStatus.ts';
import { joinAccounts } from '../../../src/web/statusPage/shownAccounts.ts';
import { LastScrapes } from '../../../src/web/routes/scrape.ts';
import { statusDocument } from '../../../src/web/statusPage/statusDocument.ts';
import { served, type TestApp } from '../support/app.ts';
import {
  accountStatus,
  breakdownBlock,
  entityBlocks,
  groupStatus,
  listedBlock,
  queryStatus,
  task,
  TEST_NOW,
  typeStatus,
} from '../support/collector.ts';
import { get } from '../support/http.ts';
import { fleet, HOSTILE_NAMES, monitoredTypes } from './fleet.ts';

/** The page for what a test puts into the collector. */
async function pageOf(prepare: (app: TestApp) => void, query = ''): Promise<string> {
  const { app, origin } = await served({ background: true });
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
  const signs: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
  return page
    .replace(/<style>.*?<\/style>|<wbr \/>/gs, '')
    .replace(/<[^>]*>|\s+/g, ' ')
    .replace(/ +/g, ' ')
    .replace(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => signs[name] ?? '');
}

/** The names of the applications and entities, in order. */
const names = (page: string) =>
  [...page.matchAll(/<span class="name[^"]*"\s*><bdi>([^<]*)<\/bdi>/g)].map(([, name]) => name);
const large = (app: TestApp) => Object.assign(app.collector, fleet());

describe('the status page', () => {
  test('has a strict Content-Security-Policy and nothing that the policy forbids', async () => {
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
    const text = words(page);
    expect(text).toMatch(
      /✗ New Relic refuses the key of europe: nothing new since 2025-12-31 23:59:30 UTC; 2 more problems What to do Use a valid user key/,
    );
    expect(page).toMatch(/<dt>Account<\/dt><dd><a href="\/\?q=europe"><bdi>europe<\/bdi><\/a><\/dd>/);
    expect(text).toMatch(
      /What the exporter does Open all europe ✗ cannot be read .* production ✗ 2 of 33 reads failing 33 reads, 31 fresh, 1 due with the next scrape, 1 missing; 411 of 600 calls/,
    );
    expect(text.match(/The service refused the key/g)).toHaveLength(1);
    expect(text).toContain(
      'Steady state 740 calls a minute, more than the 600 possible: every group is refreshed less often',
    );
    expect(text).toContain('Steady state 123 calls a minute Groups: 1');
    expect(text).toContain('Calls now 8 in flight, 420 a minute in force');
    expect(text).toContain(
      'Rate limited by New Relic: calls of production pause until 2026-01-01 00:00:42 UTC, 42 s from now',
    );
    expect(text).toContain('Newest window served 2025-12-31 23:58:00 UTC, 2 min ago');
    expect(text).toContain('applications.include[2] (name "checkuot-*") matches nothing.');
    expect(text).toContain('stage = <prod>');
  });

  test('begins with the verdict, shows it in title and icon, and refreshes itself unless refresh=0', async () => {
    const { app, origin } = await served();
    const page = async (path = '/') => (await get(`${origin}${path}`)).text;
    const unread = await page();
    expect(words(unread)).toMatch(
      /^ nothing read – newrelic-apm-exporter ! Nothing read yet: the exporter reads when \/metrics is scraped Read now /,
    );
    expect(unread).toContain('<a href="/metrics">Read now</a>');
    expect(unread).toContain('<meta http-equiv="refresh" content="30" />');
    await get(`${origin}/metrics`);
    app.collector.blocks = [breakdownBlock('production', 7, 'checkout', { errorRatio: 0.5, requests: 1 })];
    const troubled = await page('/?refresh=0&q=check');
    expect(words(troubled)).toMatch(/^ \(1\) trouble – .* ✗ 1 application in trouble: checkout \(errors 50 %\) /);
    expect(troubled).not.toContain('http-equiv="refresh"');
    expect(troubled).toContain('href="/?q=check"');
    expect(troubled).toContain('<input type="hidden" name="refresh" value="0" />');
    const icon = (html: string) => decodeURIComponent(/href="(data:image[^"]*)"/.exec(html)?.[1] ?? '');
    expect([icon(unread), icon(troubled)]).toEqual([expect.stringContaining('>!<'), expect.stringContaining('>✗<')]);
    app.clock += 421_000;
    expect(words(await page())).toMatch(/^ not scraped – newrelic-apm-exporter ✗ Last scrape 7 min 1 s ago/);
  });

  test('shows of sixty accounts the failing accounts first, with the reasons, and finds the others by name', async () => {
    const many = (app: TestApp) => {
      app.collector.accounts = Array.from({ length: 60 }, (_, index) =>
        accountStatus({
          name: `team-${index}`,
          ...(index % 20 === 7 ? { refused: index === 7 ? 'the key was refused' : 'no rights', up: false } : {}),
        }),
      );
    };
    const page = await pageOf(many);
    const text = words(page);
    expect(text).toContain('New Relic refuses the key of team-7, team-27 and team-47: nothing new since');
    expect(text).toMatch(
      /What New Relic answered the key was refused no rights .* team-7 ✗ cannot be read .* team-0 ✓ read/,
    );
    expect(page).toContain('<a href="/?q=team-27"');
    const whole = (html: string) => [...html.matchAll(/<summary><bdi>([^<]*)/g)].map(([, name]) => name);
    expect(whole(page)).toEqual([7, 27, 47, 0, 1, 2, 3, 4, 5, 6].map((index) => `team-${index}`));
    expect(text).toContain('and 50 accounts more: find one by its name.');
    const found = await pageOf(many, '?q=team-12');
    expect(whole(found)).toEqual(['team-12']);
    expect(whole(await pageOf(many, '?q=team-1'))).toEqual(['team-1']);
  });

  test('folds tables without failures, opens tables with failures, and opens all with open=1', async () => {
    const open = (page: string) =>
      [...page.matchAll(/<details open>\s*<summary>\s*([^<]*)/g)].map(([, summary]) => summary?.trim());
    const queries = Array.from({ length: 25 }, () => queryStatus());
    const well = (app: TestApp) => (app.collector.accounts = [accountStatus({ queries })]);
    const folded = await pageOf(well);
    expect([open(folded), words(folded).includes('Queries: 25')]).toEqual([[], true]);
    const whole = await pageOf(well, '?open=1&refresh=0&q=checkout');
    expect(open(whole)).toEqual(['', 'Groups: 12', 'Queries: 25']);
    // What a reader opened stays open through searches and refreshes.
    for (const link of ['?q=checkout&amp;open=1"', '?q=checkout&amp;refresh=0#exporter"', 'name="open" value="1"']) {
      expect(whole).toContain(link);
    }
    const failing = await pageOfAccount({
      queries: [queryStatus(), queryStatus({ success: false, state: 'missing', problem: 'too many rows' })],
      tasks: [task({ group: 'queries', query: 'orders', problem: 'too many rows', reason: 'other' })],
    });
    expect(open(failing)).toEqual(['Queries: 2, 1 failing']);
  });

  test('shows each group with interval, effective interval, last success and entities, and the limit that slows it', async () => {
    const plan = { groups: [], callsPerMinute: 300, budget: 600, concurrencyCapacity: 200.5, slowdown: 300 / 200.5 };
    expect(words(await pageOfAccount({ plan }))).toContain(
      'Steady state 300 calls a minute, more than the 201 possible: every group',
    );
    const text = words(await pageOf(large));
    expect(text).toContain(
      'application_metrics failed in 42.4 s 6 min 40 s ago 117 fresh, 2 due with the next scrape, 1 missing every 1 min, in effect 2 min 10 s; slowest 9.8 s: ',
    );
    expect(text).toContain('host_metrics not yet never all fresh every 1 min; slowest 10 s: web-01');
    expect(text).toContain('metric_names OK in 1.25 s 30 s ago all fresh every 6 h');
    expect(text).toContain('GET /applications/{id}/hosts/{host_id}/metrics/data.json: no response within 10 s');
    expect(text).toContain('For web-01.<b>example</b> · shop-1');
  });

  test('calls a stale read due with the next scrape, until a scrape has skipped it', async () => {
    const groups = [groupStatus({ group: 'application_metrics', tasks: { fresh: 0, stale: 101, missing: 0 } })];
    const stale = (late: number) =>
      Array.from({ length: 101 }, (_, index) => task({ state: 'stale', isLate: index < late }));
    const due = words(await pageOfAccount({ groups, tasks: stale(0) }));
    expect(due).toContain('101 reads, all due with the next scrape');
    expect(due).not.toContain('stale');
    const passed = words(await pageOfAccount({ groups, tasks: stale(3) }));
    expect(passed).toContain('101 reads, 98 due with the next scrape, 3 stale');
    expect(passed).toContain('30 s ago 98 due with the next scrape, 3 stale every 1 min');
  });

  test('shows reads that fail alike as one problem, with the count and the first ten names, the longest first', async () => {
    const alike = Array.from({ length: 200 }, (_, index) =>
      task({
        applicationId: index,
        application: `shop-${index}`,
        failures: index,
        state: index < 60 ? 'stale' : 'missing',
        reason: 'timeout',
        problem: 'no response within 10 s',
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
      '201 of 202 reads fail: New Relic does not answer in time for application_metrics of shop-199 and 199 more (production); 1 more problem',
    );
    expect(text).toContain(
      'Served Nothing for 140, the last good values for 60. Since 2025-12-31 23:55:01 UTC, 4 min 59 s ago Account production For shop-199 , shop-198 ,',
    );
    expect(text).toContain(
      'shop-190 and 190 more What New Relic answered no response within 10 s New Relic fails with a server error for hosts of checkout (production) What to do',
    );
    expect(text).toContain('For checkout What New Relic answered GET /hosts.json: 503 (reason server)');
    expect(text).toContain('201 of 202 reads failing');
  });

  test('shows for an unreadable account what to do, which values are served, since when and why', async () => {
    const outage = {
      since: TEST_NOW - 400,
      reason: 'network' as const,
      problem: 'GET /applications.json: connection refused',
      remedy: REMEDIES.network,
      servedUntil: TEST_NOW + 90,
    };
    const failed = task({ group: 'applications', problem: outage.problem, reason: 'network' });
    const text = words(await pageOfAccount({ up: false, outage, tasks: [failed] }));
    expect(text).toContain('production ✗ cannot be read');
    expect(text.match(/connection refused/g)).toHaveLength(1);
    expect(text).toMatch(
      /✗ New Relic cannot be reached for production: nothing new since 2025-12-31 23:59:30 UTC What to do Check DNS, the proxy settings \(HTTPS_PROXY\)/,
    );
    expect(text).toContain(
      'Served The last good values, until 2026-01-01 00:01:30 UTC, 1 min 30 s from now. Since 2025-12-31 23:53:20 UTC, 6 min 40 s ago Account production What New Relic answered GET /applications.json: connection refused',
    );
    const tasks = [task({ state: 'missing' })];
    const expired = { up: false, tasks, windowEnd: undefined, outage: { ...outage, servedUntil: undefined } };
    const later = words(await pageOfAccount(expired));
    expect(later).toContain('Served Nothing.');
    expect(later).toContain('Newest window served none');
  });

  test('shows the faults of a failed reload', async () => {
    const diagnostics = Array.from({ length: 7 }, (_, index) => `c.yaml:${index}:1: a<b`);
    const text = words(await pageOf((app) => (app.reloadFailure = { failedAt: TEST_NOW - 60, diagnostics })));
    expect(text).toContain(
      'The last reload failed: the previous configuration stays in force What to do Correct the file, try it with the command "check", and reload. Since 2025-12-31 23:59:00 UTC, 1 min ago The faults c.yaml:0:1: a<b',
    );
    expect(text).toContain('c.yaml:4:1: a<b and 2 more faults');
  });

  test('names the slowest read of a group, and links from a failure to the page of reasons', async () => {
    const failed = task({ reason: 'timeout', problem: 'no response', failures: 2, seconds: 9 });
    const slow = [0.2, 4.25].map((seconds) => task({ group: 'hosts', application: `shop-${seconds}`, seconds }));
    const groups = [groupStatus({ group: 'application_metrics' }), groupStatus({ group: 'hosts' })];
    const page = await pageOfAccount({ groups, tasks: [...slow, failed, task({ seconds: 0.3 })] });
    expect(words(page)).toMatch(
      /application_metrics OK .* slowest 9 s: checkout.* hosts OK .* slowest 4.25 s: shop-4.25/,
    );
    expect(page).toContain('<a href="https://docs.example/errors.md#failed-calls">All reasons</a>');
  });

  test.each([[[]], [['queries']], [['entities', 'golden_metrics', 'queries']]] as const)(
    'has no section of applications for an account with only the groups %j',
    async (groups) => {
      const page = await pageOfAccount({
        groups: groups.map((group) => groupStatus({ group })),
        applications: undefined,
      });
      expect(page).not.toContain('<h2 id="applications"');
    },
  );

  const THEN = ': remove "api: rest" to read NerdGraph.';
  test.each([
    [400, `REST, which New Relic ends on 2027-02-05, in 400 days${THEN}`, ''],
    [1, `REST, which New Relic ends on 2026-01-02, in 1 day${THEN}`, 'warn'],
    [-1, `REST, which New Relic ended on 2025-12-31${THEN}`, 'bad'],
    [undefined, 'Interface REST API (v2)', ''],
  ])('names an interface that ends in %s days, with the number of days', async (days, sentence, notice) => {
    const endOfLife = days === undefined ? undefined : TEST_NOW + days * 86_400;
    const page = await pageOfAccount({ api: 'rest', endOfLife });
    expect(words(page)).toContain(sentence);
    expect(words(page).includes('which New Relic end')).toBe(days !== undefined);
    expect([...page.matchAll(/<p class="notice (\w+)"/g)].map(([, style]) => style).join()).toBe(notice);
  });

  test('escapes every name and the text of the search', async () => {
    const page = await pageOf((app) => Object.assign(app.collector, fleet(30)));
    for (const name of HOSTILE_NAMES) expect(words(page)).toContain(name.trim());
    expect(page).not.toMatch(/<script|<img|<b>example|DROP TABLE applications; --'/);
    expect(page.match(/<style>/g)).toHaveLength(1);
    const searched = await pageOf(large, '?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E');
    expect(searched).toContain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
    expect(searched).not.toContain('<script');
  });

  const untried = {
    groups: [groupStatus({ lastSuccess: undefined, success: undefined })],
    tasks: [],
    windowEnd: undefined,
  };
  const entryAccount = { api: 'nerdgraph', accountId: 1_234_567, entry: 'company' } as const;

  test.each<[what: string, account: Partial<AccountStatus>, sentence: string]>([
    ['has a warning shows the warning in place of its state', { warnings: ['a'] }, 'production ! 1 warning'],
    [
      'has applications shows how many',
      { applicationCounts: { listed: 14, exported: 12, reporting: 10 } },
      '12 exported of 14 listed, 10 of them report',
    ],
    ['serves no value says so', { tasks: [task({ state: 'missing' })] }, 'production ? nothing served now'],
    [
      'belongs to an entry names its interface and its entry',
      entryAccount,
      'Interface NerdGraph, account 1234567 of company',
    ],
    ['was not read yet says so', { ...untried, up: false }, 'production ? not read yet'],
    ['has no window says so', untried, 'Newest window served none'],
    ['has no list says so', { ...untried, applications: undefined }, 'None has been read. What'],
  ])('an account that %s', async (_, account, sentence) => {
    expect(words(await pageOfAccount(account))).toContain(sentence);
  });
});

describe('the response-time breakdown', () => {
  const one = (times: Parameters<typeof breakdownBlock>[3]) => (app: TestApp) =>
    (app.collector.blocks = [breakdownBlock('production', 7, 'checkout', times)]);

  test('draws bars on one scale and names their parts, queueing first, application code last', async () => {
    const page = await pageOf((app) => {
      const applications = [7, 8].map((id) => ({ id, name: `app ${id}`, language: 'go', reporting: true }));
      app.collector.accounts = [accountStatus({ applications })];
      const components = { External: 0.04, 'Datastore/MySQL': 0.06 };
      const first = { response: 0.2, queue: 0.02, components, total: 0.08 };
      app.collector.blocks = [
        breakdownBlock('production', 7, 'app 7', first),
        breakdownBlock('production', 8, 'app 8', { response: 0.36, components: { External: 0.36 } }),
      ];
    });
    const bars = [...page.matchAll(/<rect\s+((?:class|fill)="[^"]+")\s+x="([\d.]+)"\s+width="([\d.]+)"/g)].map(
      (match) => match.slice(1),
    );
    expect(bars).toEqual([
      ['fill="hsl(313 50% 47%)"', '0.0', '720.0'],
      ['class="queue"', '0.0', '40.0'],
      ['fill="hsl(173 50% 47%)"', '40.0', '120.0'],
      ['fill="hsl(313 50% 47%)"', '160.0', '80.0'],
      ['class="total"', '240.0', '160.0'],
    ]);
    const text = words(page);
    expect(text).toContain('Bars begin at 0 and end at 500 ms.');
    expect(text).toContain('200 ms Request queueing 20 ms Datastore/MySQL 60 ms External 40 ms Application code 80 ms');
    expect(page).toContain(
      'role="img" aria-label="Request queueing 20 ms, Datastore/MySQL 60 ms, External 40 ms, Application code 80 ms"',
    );
  });

  test('shows the figures of each application, marks the bad ones, and lists applications in trouble first', async () => {
    const rates = { response: 0.1, requests: 2, background: 0.5 };
    const figures = { ...rates, errorRatio: 0.123, apdexScore: 0.271, apdexThreshold: 0.5, apdexRequests: 100 };
    const page = await pageOf((app) => {
      const common = { language: 'go', reporting: true };
      const list = ['slow', 'errors', 'apdex', 'orange', 'red'].map((name, id) => ({ id, name, ...common }));
      app.collector.accounts = [accountStatus({ applications: list })];
      const values = [
        { response: 9 },
        figures,
        { apdexScore: 0.6, apdexRequests: 100, response: 3 },
        { response: 1 },
        { response: 2 },
      ];
      app.collector.blocks = list.flatMap(({ id, name }, index) => [
        listedBlock('production', id, name, ['red', 'orange'].includes(name) ? name : 'green'),
        breakdownBlock('production', id, name, values[index]),
      ]);
    });
    expect(names(page)).toEqual(['red', 'orange', 'errors', 'apdex', 'slow']);
    const healths = [...page.matchAll(/<span class="(name|health) (\w*)"/g)].map(
      ([, element, style]) => `${element} ${style}`,
    );
    expect(healths).toEqual([
      ...['name bad', 'health red', 'name warn', 'health orange', 'name bad', 'health green', 'name bad'],
      ...['health green', 'name ', 'health green'],
    ]);
    expect(words(page)).toContain('errors production · go · 1 ✓ green 2.5 ✗ 12.3 % ✗ 0.27 T 500 ms 100 ms');
    expect(words(page)).toContain('slow production · go · 0 ✓ green – – – 9 s');
  });

  test('shows an application once that several accounts list', async () => {
    const page = await pageOf((app) => {
      app.collector.accounts = [accountStatus({ name: 'a' }), accountStatus({ name: 'b' })];
      app.collector.blocks = [breakdownBlock('b', 7, 'checkout')];
    });
    expect(names(page)).toEqual(['checkout']);
    expect(words(page)).toContain('checkout a, b · java · 7 ? unknown – – – 250 ms');
  });

  test('names application code below zero but does not draw it, and draws parallel time pale', async () => {
    const page = await pageOf(one({ response: 0.4, components: { External: 0.55 }, total: -0.15 }));
    expect(words(page)).toContain('External 550 ms Application code -150 ms');
    expect(words(page)).toContain('and application code may be below zero');
    expect(page).not.toMatch(/<rect\s+class="total"\s+x=/);
    expect(page).toMatch(/<rect class="pale" x="400\.0" width="150\.0"/);
    // Each part names the metric that it comes from.
    expect(page).toMatch(/<span title="newrelic_application_total_time_seconds"\s*>.*?<bdi>Application code<\/bdi>/s);
  });

  test('gives a component the same colour on every page', async () => {
    const colours = async (components: Record<string, number>) => {
      const page = await pageOf(one({ response: 1, components }));
      return new Map(
        [...page.matchAll(/<rect\s+(class="c\d+"|fill="[^"]+")\s+width="10"[^>]*>\s*<\/svg>\s*<bdi>([^<]*)/g)].map(
          ([, colour, name]) => [name, colour],
        ),
      );
    };
    const components = Object.fromEntries(
      ['External', 'Memcache', 'Datastore/Odd', 'Datastore/Odder', 'Database'].map((name) => [name, 0.1]),
    );
    const together = await colours(components);
    expect(new Set(together.values()).size).toBe(5);
    for (const name of together.keys())
      expect((await colours({ [name ?? '']: 0.1 })).get(name)).toBe(together.get(name));
  });

  test.each([
    [{ reporting: false }, {}, 'An application that does not report has no metric data.'],
    [{}, { state: 'missing', problem: 'no response within 10 s' } as const, '– no response within 10 s'],
    [{}, { state: 'missing', windowEnd: undefined } as const, 'No value is fresh enough to be served.'],
    [{}, {}, 'No web transactions in the window.'],
  ])('shows the reason where an application has no breakdown: %j %j', async (application, work, reason) => {
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

  test('searches by name, account and id, and shows pages of 50', async () => {
    const first = await pageOf(large);
    expect(names(first)).toHaveLength(50);
    expect(first).toMatch(/<form class="search" method="get" action="\/" role="search">[^]*<input id="q" name="q"/);
    expect(first).toContain('href="/?page=2#applications"');
    // The slowest are first, those without a response time last, equal ones by name.
    const third = names(await pageOf(large, '?page=3'));
    expect([third.length, third.at(-1)]).toEqual([20, 'shop-89']);
    for (const page of ['99', '0', '-1', 'x', '1e9'])
      expect(names(await pageOf(large, `?page=${page}`)).length).toBeGreaterThan(0);
    const found = await pageOf(large, '?q=SHOP-9');
    expect(names(found).toSorted()).toEqual(Array.from({ length: 10 }, (_, index) => `shop-9${index}`));
    expect(words(found)).toContain('Applications 10 of 120');
    expect(found).toContain('<a href="/">Show all</a>');
    expect(names(await pageOf(large, '?q=1077'))).toEqual(['shop-77']);
    expect(await pageOf(large, '?q=shop&page=2')).toContain('href="/?q=shop#applications"');
    expect(words(await pageOf(large, '?q=nowhere'))).toContain('Nothing matches "nowhere".');
  });
});

/** The JSON of an application, after `prepare`. */
async function statusOf(prepare: (app: TestApp) => unknown): Promise<{ accounts: Record<string, unknown>[] }> {
  const { app, origin } = await served();
  prepare(app);
  const got = await get(`${origin}/api/status`);
  expect(got.headers['content-type']).toMatch(/^application\/json/);
  expect(app.collector.refreshes).toEqual([]);
  return JSON.parse(got.text) as { accounts: Record<string, unknown>[] };
}

describe('/api/status', () => {
  test('has a failed reload, interfaces with their ends, outages, failures by reason and the figures of entities', async () => {
    const problem = { since: TEST_NOW - 60, reason: 'auth' as const, problem: '401', remedy: REMEDIES.auth };
    const outage = { ...problem, servedUntil: undefined };
    const failing = [1, 2].map((failures) => task({ failures, reason: 'timeout', problem: 'no response' }));
    const status = await statusOf((app) => {
      app.reloadFailure = { failedAt: TEST_NOW, diagnostics: ['c.yaml:1:1: a: b'] };
      app.collector.accounts = [
        accountStatus({ up: false, outage, tasks: failing, endOfLife: 1_816_992_000 }),
        accountStatus({ api: 'nerdgraph', entities: monitoredTypes().slice(1, 2) }),
      ];
    });
    expect(status).toMatchObject({
      reload_failure: { at: TEST_NOW, faults: ['c.yaml:1:1: a: b'] },
      accounts: [
        {
          ...{ api: 'rest', api_end_of_life: 1_816_992_000 },
          outage: { ...problem, last_good_values_until: null },
          failures: [
            {
              ...{ group: 'application_metrics', reason: 'timeout', problem: 'no response' },
              ...{ count: 2, failures: 2, since: TEST_NOW - 1_200 },
            },
          ],
        },
        {
          ...{ api: 'nerdgraph', api_end_of_life: null, outage: null, failures: [] },
          entity_types: [
            {
              ...{ type: 'BROWSER-APPLICATION', state: 'fresh', success: true, duration_seconds: 0.4, problem: null },
              ...{ last_success: TEST_NOW - 200, listed: 1_240, exported: 1_000, reporting: 988, series: 2_940 },
              left_out: { by_configuration: 90, by_max_entities: 150 },
              metrics: ['largestContentfulPaint75PercentileS', 'pageLoadSeconds', 'throughputPpm'],
              metric_problems: [
                { metric: 'errors', problem: 'its definition begins another clause with LIMIT' },
                { metric: 'firstInputDelay' },
                { metric: HOSTILE_NAMES[0] },
              ],
              ...{ oldest_value: TEST_NOW - 400, oldest_window_end: TEST_NOW - 160, golden_metrics_failing: 48 },
              golden_metrics: { fresh: 940, stale: 40, missing: 8 },
            },
          ],
        },
      ],
    });
  });

  test('has the verdict, and the ten most recent scrapers, each with its last scrape', async () => {
    const { app, origin } = await served();
    const status = async (): Promise<unknown> => JSON.parse((await get(`${origin}/api/status`)).text);
    await get(`${origin}/metrics?collect[]=exporter`);
    expect(await status()).toMatchObject({ verdict: 'nothing_read', last_scrapes: [] });
    await get(`${origin}/metrics`);
    app.clock += 10_000;
    await get(`${origin}/probe?account=production&app_id=7`);
    app.clock += 2_000;
    expect(await status()).toMatchObject({
      verdict: 'well',
      verdict_text: 'All read, 42 s ago, no trouble in 1 application',
      last_scrapes: [{ address: '127.0.0.1', at: TEST_NOW + 10 }],
    });
    const scrapes = new LastScrapes();
    for (const last of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 3]) scrapes.note(`::ffff:10.0.0.${last}`, 0, last);
    expect(scrapes.list.map(({ address }) => address)).toEqual(
      [3, 11, 10, 9, 8, 7, 6, 5, 4, 2].map((last) => `10.0.0.${last}`),
    );
  });

  test('writes small pieces, whatever the number of applications and tasks', async () => {
    const [application] = accountStatus().applications ?? [];
    const many = { tasks: Array.from({ length: 500 }, () => task()), applications: Array(500).fill(application) };
    const accounts = [accountStatus(many), accountStatus({ name: 'b', tasks: [], applications: undefined })];
    const shown = await joinAccounts(accounts, [], new AbortController().signal);
    const verdict = { verdict: 'well', text: 'All read', count: 0, style: 'good' } as const;
    const view = {
      accounts: shown,
      entries: [],
      rows: [],
      problems: [],
      verdict,
      lastScrapes: [],
      reloadFailure: undefined,
      ...{ silence: 0, background: false, maxAge: 300, scraped: '/metrics' },
    };
    const parts = [...statusDocument({ ...view, now: TEST_NOW }, '1.2.3')];
    expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(10_000);
    const document = JSON.parse(parts.join('')) as {
      accounts: Record<'entities' | 'applications', unknown[] | null>[];
    };
    expect(document.accounts.map(({ entities, applications }) => [entities?.length, applications?.length])).toEqual([
      [500, 500],
      [0, undefined],
    ]);
  });

  test('has every key, with null for unknown values', async () => {
    const document = await statusOf(() => undefined);
    expect(document).toMatchObject({
      ...{ version: '1.2.3', now: TEST_NOW, reload_failure: null },
      accounts: [
        {
          ...{ name: 'production', labels: { team: 'payments' }, up: true, refused: null, warnings: [] },
          window_end: TEST_NOW - 120,
          budget: {
            ...{ requests_per_minute: 600, requests_per_minute_in_force: 600, requests_in_last_minute: 123 },
            ...{ requests_in_flight: 2, paused_until: null },
          },
          plan: { requests_per_minute: 123.4, stretch: 1 },
          applications: [
            {
              ...{ id: 7, name: 'checkout', language: 'java', reporting: true, tags: [], health_status: null },
              ...{ response_time_seconds: 0.25, requests_per_second: null, error_ratio: null, apdex_score: null },
              apdex_threshold_seconds: null,
              breakdown: [
                {
                  ...{ kind: 'queue', name: 'Request queueing', seconds: 0.01 },
                  metric: 'newrelic_application_queue_time_seconds',
                },
                { kind: 'component', name: 'Datastore/MySQL', seconds: 0.09 },
                { kind: 'component', name: 'External', seconds: 0.05 },
                { kind: 'total', name: 'Application code', seconds: 0.1 },
              ],
            },
          ],
        },
      ],
    });
    expect(document.accounts[0]?.['entities']).toEqual([
      {
        ...{ group: 'applications', application_id: null, application: null, host_id: null, host: null, query: null },
        ...{ entity_type: null, entity_guid: null, entity: null, state: 'fresh', failures: 0, reason: null },
        ...{ problem: null, since: null, seconds: 0.21, window_end: null },
      },
    ]);
    expect((document.accounts[0]?.['groups'] as unknown[])[0]).toEqual({
      ...{ group: 'applications', interval_seconds: 60, effective_interval_seconds: 60, success: true },
      ...{ last_success: TEST_NOW - 30, duration_seconds: 1.25, oldest_window_end: TEST_NOW - 120 },
      entities: { fresh: 1, stale: 0, missing: 0 },
    });
  });
});

describe('the entities of an account', () => {
  test('are shown by type: listed and left-out entities with the reason, golden metrics, their age and failures', async () => {
    const text = words(await pageOfAccount({ entities: monitoredTypes() }));
    expect(text).toContain(
      'EXT-SERVICE OK in 400 ms 3 min 20 s ago all fresh 12 exported of 12 listed, 12 of them report; oldest window ended ',
    );
    expect(text).toContain(
      'errors : its definition begins another clause with LIMIT ; firstInputDelay : graphql:golden_metrics: NRQL Syntax Error: line 1 position 41',
    );
    expect(text).toContain(
      'BROWSER-APPLICATION golden metrics of 48 entities failed in 400 ms 3 min 20 s ago 940 fresh, 40 due with the next scrape, 8 missing 1,000 exported of 1,240 listed, 988 of them report; errors : its definition',
    );
    expect(text).toContain(
      'INFRA-HOST graphql:entities: the list has 12,400 entities, and at most 10,000 are read in 400 ms never nothing not read yet',
    );
  });

  test('are listed beside the applications with health and golden metrics, a few of each type, those in trouble first', async () => {
    const many = (app: TestApp) => {
      app.collector.accounts = [accountStatus({ entities: [typeStatus()] })];
      app.collector.blocks = Array.from({ length: 120 }, (_, index) =>
        entityBlocks('production', 'EXT-SERVICE', `cart-${index}`, index === 77 ? 'red' : 'green', {
          'Response time': index + 0.5,
        }),
      ).flat();
    };
    const page = await pageOf(many);
    expect(names(page).slice(0, 3)).toEqual(['checkout', 'cart-77', 'cart-0']);
    expect(names(page)).toHaveLength(11);
    expect(words(page)).toContain('EXT-SERVICE 120 ');
    expect(words(page)).toContain(
      'cart-77 production ✗ red Response time 77.5 ms cart-0 production ✓ green Response time 0.5 ms',
    );
    expect(page).toContain('<a href="/?type=EXT-SERVICE">All 120</a>');
    const alone = await pageOf(many, '?type=EXT-SERVICE&page=3');
    expect(names(alone)).toEqual(Array.from({ length: 20 }, (_, index) => `cart-${index + 100}`));
    expect(names(await pageOf(many, '?q=cart-77'))).toEqual(['cart-77']);
    const { accounts } = await statusOf(many);
    expect((accounts[0]?.['monitored_entities'] as unknown[])[0]).toEqual({
      ...{ type: 'EXT-SERVICE', guid: 'guid of cart-0', name: 'cart-0', reporting: true, health_status: 'green' },
      golden_metrics: [{ metric: 'newrelic_Response time', title: 'Response time', unit: 'MS', value: 0.5 }],
    });
  });

  test('are named where their reads or their lists fail', async () => {
    const ofEntity = { entityType: 'EXT-SERVICE', entityGuid: 'MTIz', entity: 'cart-<b>api</b>' };
    const none = { applicationId: undefined, application: undefined, problem: 'timed out', reason: 'timeout' as const };
    const tasks = [
      task({ ...none, ...ofEntity, group: 'golden_metrics', failures: 2 }),
      task({ ...none, entityType: 'INFRA-HOST', group: 'entities', failures: 1 }),
    ];
    const text = words(await pageOfAccount({ tasks }));
    expect(text).toContain('does not answer in time for golden_metrics of cart-<b>api</b> (production)');
    expect(text).toContain('For cart-<b>api</b> · EXT-SERVICE What New Relic answered timed out');
    expect(text).toContain('does not answer in time for entities of INFRA-HOST (production)');
    const list = task({ ...none, group: 'applications', failures: 5 });
    const listed = words(await pageOfAccount({ tasks: [list, { ...list, applicationId: 7, application: 'shop' }] }));
    expect(listed).toContain('For the list of the account, shop What New Relic answered timed out');
  });
});

test('the queries of an account are shown without secrets, with rows, series, the age of the window and the reason of a failure', async () => {
  const query = queryStatus({ nrql: "SELECT count(*) FROM Order WHERE a < '<b>' AND k = 'NRAK-0'" });
  const late = { ...query, name: 'late', windowEnd: TEST_NOW - 14_400 };
  const failed = { ...query, name: 'broken', success: false, problem: 'graphql:queries: too many rows' };
  const text = words(await pageOfAccount({ queries: [query, late, failed] }));
  const nrql = "SELECT count(*) FROM Order WHERE a < '<b>' AND k = '<secret>'";
  expect(text).toContain(`orders OK in 200 ms 30 s ago 12 rows, 11 series ${nrql} ; oldest window ended `);
  expect(text).toContain('oldest window ended 4 h ago broken');
  expect(text).toContain('graphql:queries: too many rows');
});
