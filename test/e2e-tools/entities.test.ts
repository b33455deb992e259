import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { account, ACCOUNT_ID, nerdGraphAccount } from '../e2e/support/config.ts';
import { exporterForTest } from '../e2e/support/forTest.ts';
import { SAME_WINDOW } from '../e2e/support/movedClock.ts';
import { scrapeUntilFresh } from '../e2e/support/states.ts';
import { samplesOf } from '../support/exposition.ts';
import { simulatorForFile, simulatorForTest } from '../support/simulator.ts';
import { commandsOn } from '../support/inProcess.ts';

const simulator = await simulatorForFile({ applications: 6, hostsPerApplication: 2, keyTransactions: 0 });

const TYPES = ['BROWSER-APPLICATION', 'EXT-SERVICE', 'INFRA-HOST'];
/** Settings of an account that reads entities only. */
const only = (...entities: readonly object[]) => ({ applications: false, entities });
const overNerdGraph = (settings: object) => nerdGraphAccount(simulator, 'shop', { ...settings });
const checkLive = (settings: object) => commandsOn(overNerdGraph(settings))('check', '--live');

describe('serve', () => {
  it('publishes three types of entities under the names and values of their definitions', async () => {
    const entities = TYPES.map((type) => ({ type, tags: ['team'], max_entities: type === 'EXT-SERVICE' ? 5 : 100 }));
    const config = { accounts: [overNerdGraph(only(...entities))] };
    const exporter = await exporterForTest({ ...SAME_WINDOW, config });
    const families = await scrapeUntilFresh(exporter);
    const infos = samplesOf(families, 'newrelic_entity_info');
    for (const type of TYPES)
      expect(infos.filter(({ labels }) => labels['entity_type'] === type).length).toBeGreaterThan(1);
    expect(samplesOf(families, 'newrelic_exporter_entities_left_out', { entity_type: 'EXT-SERVICE' })).toMatchObject([
      { labels: { account: 'shop' }, value: 1 },
    ]);
    const names = families.map(({ name }) => name);
    expect(names).toContain('newrelic_browser_application_largest_contentful_paint75_percentile_s');
    expect(names).toContain('newrelic_infra_host_cpu_usage');
    const help = families.find(({ name }) => name === 'newrelic_ext_service_response_time_ms')?.help;
    expect(help).toBe('Response time (MS); golden metric responseTimeMs of EXT-SERVICE as New Relic defines it');
    const throughput = samplesOf(families, 'newrelic_ext_service_throughput');
    expect(throughput.length).toBe(5);
    for (const { labels, value } of throughput) {
      expect(Object.keys(labels).sort()).toEqual(['account', 'entity', 'entity_guid']);
      expect(value).toBeGreaterThan(0);
    }
    const groups = await exporter.scrape('/metrics?collect[]=golden_metrics');
    expect(groups.every(({ name }) => /^newrelic_(?:ext|browser|infra)_/.test(name))).toBe(true);
  });

  it('reads entities of a REST account through NerdGraph; a key refused there fails only their list', async () => {
    const rest = await simulatorForTest({
      ...{ applications: 2, hostsPerApplication: 1, keyTransactions: 0 },
      faults: [{ effect: 'status', status: 401, on: 'graphql_entity_list', path: '/graphql*' }],
    });
    const settings = { account_id: ACCOUNT_ID, entities: [{ type: 'EXT-SERVICE' }] };
    const config = { accounts: [account(rest, 'shop', settings)] };
    const exporter = await exporterForTest({ ...SAME_WINDOW, config });
    const families = await exporter.scrape('/metrics');
    expect(samplesOf(families, 'newrelic_up')).toMatchObject([{ value: 1 }]);
    expect(samplesOf(families, 'newrelic_application_info')).toHaveLength(2);
    expect(samplesOf(families, 'newrelic_application_apdex_score').length).toBeGreaterThan(0);
    expect(samplesOf(families, 'newrelic_entity_info')).toEqual([]);
    const success = samplesOf(families, 'newrelic_exporter_collection_success');
    expect(success.filter(({ value }) => value === 0).map(({ labels }) => labels['group'])).toEqual(['entities']);
  });
});

describe('discover --entities', () => {
  const settings = { account_id: ACCOUNT_ID };
  const run = commandsOn(account(simulator, 'shop', settings));

  it('lists the types with the number of entities of each', async () => {
    const { status, stdout } = await run('discover', '--entities');
    const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    expect(rows).toContainEqual(['TYPE', 'ENTITIES']);
    expect(rows).toContainEqual(['EXT-SERVICE', '6']);
    for (const type of TYPES) expect(rows.map(([name]) => name)).toContain(type);
    expect(status).toBe(0);
  });

  it('lists the entities of one type with their tags and golden metrics, as a table, and as JSON', async () => {
    const { stdout } = await run('discover', '--entities=EXT-SERVICE');
    const rows = stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    expect(rows).toContainEqual(['ENTITY', 'REPORTS', 'TAGS']);
    expect(stdout).toContain('instrumentation.provider=opentelemetry');
    expect(rows).toContainEqual([
      ...['responseTimeMs', 'Response time', 'MS'],
      "average(convert(apm.service.transaction.duration, unit OR 's', 'ms'))",
    ]);
    const json = await run('discover', '--entities=EXT-SERVICE', '--format=json');
    const { accounts } = JSON.parse(json.stdout) as { readonly accounts: readonly { readonly entities: object[] }[] };
    expect(accounts[0]?.entities).toHaveLength(6);
    const throughput: unknown = expect.objectContaining({ name: 'throughput', unit: 'REQUESTS_PER_MINUTE' });
    const golden_metrics: unknown = expect.arrayContaining([throughput]);
    expect(accounts[0]?.entities[0]).toMatchObject({ reporting: true, golden_metrics });
  });

  it('prints YAML that check accepts, of one account and of several, with the numbers of entities as comments', async () => {
    const names = ['shop', 'blog: "old"'];
    const several = commandsOn(...names.map((name) => account(simulator, name, settings)));
    for (const flag of ['--entities', '--entities=EXT-SERVICE']) {
      const one = await run('discover', flag, '--format=yaml');
      expect(one.stdout).toMatch(/^ +- type: EXT-SERVICE # 6 entities$/m);
      const { entities } = parse(one.stdout) as { readonly entities: readonly { readonly type: string }[] };
      expect(entities.map(({ type }) => type)).toContain('EXT-SERVICE');
      const checked = commandsOn(account(simulator, 'shop', { ...settings, entities }));
      expect(await checked('check')).toMatchObject({ status: 0 });
      const { stdout } = await several('discover', flag, '--format=yaml');
      const documents = parseAllDocuments(stdout).map((each) => each.toJS() as unknown);
      expect(documents).toEqual(names.map(() => ({ entities })));
      for (const name of names) expect(stdout).toContain(`# account ${name}\n`);
      expect(stdout.match(/# 6 entities$/gm)?.length).toBe(2 * (one.stdout.match(/# 6 entities$/gm)?.length ?? NaN));
    }
  });

  it.each([
    ['INFRA-HOTS', '; did you mean "INFRA-HOST"?'],
    ['NO-SUCH_THING', ': discover --entities lists the types of the account'],
  ])('ends with 1 where no account has entities of the type: %s', async (type, advice) => {
    const stderr = `error: account shop: no entity of ${type}${advice}\n`;
    expect(await run('discover', `--entities=${type}`)).toEqual({ status: 1, stdout: '', stderr });
  });

  it('suggests to check the account number where the account has no entities', async () => {
    const ofOther = commandsOn(account(simulator, 'shop', { account_id: ACCOUNT_ID + 1 }));
    const { status, stderr } = await ofOther('discover', '--entities=INFRA-HOST');
    expect([status, stderr]).toEqual([1, expect.stringContaining('check account_id')]);
  });
});

describe('plan', () => {
  it('counts the entities whose golden metrics are read, their calls, and the minutes of data', async () => {
    const types = TYPES.map((type) => ({ type, window: '5m' }));
    const run = commandsOn(overNerdGraph(only(...types)));
    let reporting = 0;
    for (const type of TYPES) {
      const { stdout } = await run('discover', `--entities=${type}`, '--format=json');
      reporting += (stdout.match(/"reporting": true/g) ?? []).length;
    }
    const { status, stdout } = await run('plan');
    expect([status, stdout]).toEqual([0, expect.stringContaining(`golden metrics of ${reporting} entities.`)]);
    // Of services one source, of browsers three, of hosts three of the agent and three of the collector.
    expect(stdout).toMatch(/^golden_metrics +10\.00 /m);
    expect(stdout).toContain('Data read: 15.0 minutes of data per minute (golden_metrics 15.0)');
  });

  it('counts the calls and the series of entities', async () => {
    const accounts = [overNerdGraph(only({ type: 'EXT-SERVICE' }))];
    const { stdout } = await commandsOn(...accounts)('plan', '--format=json');
    const exporter = await exporterForTest({ ...SAME_WINDOW, config: { accounts } });
    const families = await scrapeUntilFresh(exporter);
    const served = families
      .filter(({ name }) => /^newrelic_(?:entity|ext_service)_/.test(name))
      .flatMap(({ samples }) => samples);
    // Of 6 services info, reporting, statuses of health, and 3 golden metrics.
    expect(served.length).toBeGreaterThan(6 * 5);
    expect(JSON.parse(stdout)).toMatchObject({
      accounts: [
        {
          series: served.length,
          groups: [
            { group: 'entities', callsPerMinute: 0.2, intervalSeconds: 300 },
            { group: 'golden_metrics', callsPerMinute: 1, intervalSeconds: 60 },
          ],
        },
      ],
    });
  });

  it('names a type that cannot be read, and ends with 1', async () => {
    const refusing = await simulatorForTest({
      ...{ applications: 2, hostsPerApplication: 1, keyTransactions: 0 },
      faults: [{ effect: 'status', status: 403, on: 'graphql_entity_list' }],
    });
    const run = commandsOn(nerdGraphAccount(refusing, 'shop', only({ type: 'EXT-SERVICE' })));
    const { status, stdout, stderr } = await run('plan');
    expect(status).toBe(1);
    expect(stderr).toContain('account shop: the entities of EXT-SERVICE cannot be read, and are not in the plan: ');
    expect(stdout).toMatch(/^Budget: 600 calls per minute/m);
  });
});

describe('check --live', () => {
  it('reads each type once, and ends with 1 where a named metric does not exist', async () => {
    const settings = (...metrics: readonly string[]) => only({ type: 'EXT-SERVICE', metrics });
    const good = await checkLive(settings('throughput'));
    expect(good.stdout).toMatch(
      /entities EXT-SERVICE: 6 visible, 6 exported, 6 of them reporting; metrics throughput; 6 values/,
    );
    expect(good.status).toBe(0);
    const bad = await checkLive(settings('throughput', 'responseTime', 'nope'));
    expect(bad.stdout.split('\n').filter((line) => /problem|warning/.test(line))).toEqual([
      '  problem: entities: golden metric "responseTime" of EXT-SERVICE: no entity has it; did you mean "responseTimeMs"?',
      '  problem: entities: golden metric "nope" of EXT-SERVICE: no entity has it: they have errorRate, responseTimeMs, throughput',
    ]);
    expect(bad.status).toBe(1);
  });

  it('reports types, entries and tags that match nothing, and ends with 0', async () => {
    const entities = [
      { type: 'INFRA-HOTS', metrics: ['cpuUsage'], include: [{ name: '*' }] },
      {
        type: 'EXT-SERVICE',
        include: [{ name: '*' }, { name: 'nix-*' }, { tag: 'team', value: 'nobody' }],
        exclude: [{ tag: 'tean' }],
        tags: ['team', 'tean'],
      },
    ];
    const settings = { applications: { tags: ['tean'] }, hosts: false, entities };
    const { status, stdout } = await checkLive(settings);
    expect(stdout.match(/(?<=warning: ).*/g)).toEqual([
      'applications.tags: no application has the tag "tean": correct the entry or remove it',
      'entities: account 1234567 has no entity of INFRA-HOTS: check account and type; the command discover --entities lists the types',
      'entities.include: no entity of EXT-SERVICE has the name "nix-*": correct the entry or remove it',
      'entities.include: no entity of EXT-SERVICE has the tag "team" with a value "nobody": correct the entry or remove it',
      'entities.tags: no entity of EXT-SERVICE has the tag "tean": correct the entry or remove it',
      'entities.exclude: no entity of EXT-SERVICE has the tag "tean": correct the entry or remove it',
    ]);
    expect(status).toBe(0);
  });

  it.each([false, true])(
    'ends with 1 where golden metrics cannot be read (the account has applications: %s)',
    async (applications) => {
      const failing = await simulatorForTest({
        ...{ applications: 2, hostsPerApplication: 1, keyTransactions: 0 },
        faults: [{ effect: 'graphql-error', class: 'INVALID_INPUT', on: 'graphql_nrql', path: '*entity.guid*' }],
      });
      const settings = { ...only({ type: 'EXT-SERVICE' }), ...(applications ? { applications: {} } : {}) };
      const { status, stdout } = await commandsOn(nerdGraphAccount(failing, 'shop', settings))('check', '--live');
      expect(stdout.match(/golden metrics of 2 entities cannot be read: graphql:golden_metrics/g)).toHaveLength(1);
      expect(status).toBe(1);
    },
  );
});
