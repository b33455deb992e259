import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { REMEDIES } from '../../src/api/upstreamError.ts';
import type { AccountStatus } from '../../src/collect/serve/accountStatus.ts';
import { skippedName } from '../real/support/skipMark.ts';
import { startExporter } from '../e2e/support/program.ts';
import { eventually } from '../support/eventually.ts';
import { entitiesOnly, faulty, fleet, large, organisation, REFUSED, shop, unread } from './statusPage/fleet.ts';
import { serve, testApp } from './support/app.ts';
import { accountStatus, task, TEST_NOW } from './support/collector.ts';

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium';
const OUTPUT = fileURLToPath(new URL('../../test-output/', import.meta.url));
/** A picture of each page at each width and colour costs a quarter of the time, so only who wants to look at them has them. */
const { PICTURE = `${OUTPUT}status-page.png`, PICTURES } = process.env;
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The rule of axe-core for the contrast of texts; the source is run in the page. */
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
const CONTRAST_FAULTS = `axe.run(document, { runOnly: ['color-contrast'] }).then(({ violations }) =>
  violations.flatMap(({ nodes }) => nodes.map(({ html, failureSummary }) => html + failureSummary)))`;

const missing = !existsSync(EXECUTABLE);
if (missing && process.env.REQUIRE_REAL === '1') {
  throw new Error(`REQUIRE_REAL=1, but there is no Chromium at ${EXECUTABLE} (set CHROMIUM)`);
}
const NAME = 'the status page in Chromium';

describe.skipIf(missing)(missing ? skippedName(NAME, `no Chromium at ${EXECUTABLE} (set CHROMIUM)`) : NAME, () => {
  let browser: Browser;
  /** All fleets are shown in one page, because a new one compiles axe-core again, which takes as long as the checks. */
  let page: Page;
  /** What the browser complains about since the last `open`. */
  let complaints: string[] = [];
  /** The address of the server; a request to another one is a complaint. */
  let origin = '';

  beforeAll(async () => {
    mkdirSync(OUTPUT, { recursive: true });
    browser = await chromium.launch({ executablePath: EXECUTABLE, headless: true, args: FLAGS });
    page = await browser.newPage();
    page.on('console', (message) => void complaints.push(message.text()));
    page.on('pageerror', (error) => void complaints.push(error.message));
    page.on('dialog', (dialog) => {
      complaints.push(dialog.message());
      dialog.dismiss().catch(() => undefined);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) complaints.push(request.url());
    });
  });

  afterAll(async () => {
    await browser.close();
  });

  interface Over {
    readonly background?: boolean;
    readonly reloadFailure?: ReturnType<typeof testApp>['reloadFailure'];
    /** The milliseconds since the last scrape; without them, there was none. */
    readonly scrapedBefore?: number;
  }

  /** Opens the status page of a fleet. */
  async function open(path: string, shown: ReturnType<typeof fleet>, over: Over = {}): Promise<void> {
    const app = testApp({ background: over.background ?? true });
    app.reloadFailure = over.reloadFailure;
    Object.assign(app.collector, shown);
    ({ origin } = await serve(app.app));
    if (over.scrapedBefore !== undefined) {
      await fetch(`${origin}/metrics`);
      app.clock += over.scrapedBefore;
    }
    complaints = [];
    await page.goto(`${origin}${path}`);
  }

  const reloadFailure = {
    failedAt: TEST_NOW - 300,
    diagnostics: ['config.yaml:12:5: accounts[0].api: must be one of rest, nerdgraph'],
  };
  const outOfUse = { tasks: [task({ state: 'missing' })], windowEnd: undefined };
  const refused = { ...REFUSED, ...outOfUse, applications: undefined };
  const networkOutage = {
    ...{ since: TEST_NOW - 1_830, reason: 'network' as const, remedy: REMEDIES.network, servedUntil: TEST_NOW + 90 },
    problem: 'graphql:applications: connect ECONNREFUSED 203.0.113.7:443, after 3 attempts',
  };
  const shopWith = (over: Partial<AccountStatus>) => {
    const { accounts, blocks } = shop();
    return { accounts: accounts.map((account) => ({ ...account, ...over })), blocks };
  };
  const partly = shop().accounts[0]?.groups.map((group) => ({ ...group, tasks: { fresh: 5, stale: 3, missing: 4 } }));
  const paused = { configured: 600, inForce: 300, lastMinute: 12, inFlight: 0, pausedUntil: TEST_NOW + 42 };

  test.each<[name: string, shown: ReturnType<typeof fleet>, verdict: RegExp, over?: Over]>([
    ['nothing-read', unread(), /^nothing read/, { background: false }],
    ['all-well', shop(), /^well/],
    [
      'not-scraped',
      { ...shop(), blocks: [], accounts: [accountStatus(outOfUse)] },
      /^not scraped/,
      { background: false, scrapedBefore: 421_000 },
    ],
    ['burning', shop('production', true), /^\(2\) trouble/],
    ['red-entity', entitiesOnly('red'), /^\(1\) trouble/],
    ['incomplete', shopWith({ groups: partly ?? [] }), /^\(48\) incomplete/],
    ['new-relic-down', shopWith({ up: false, outage: networkOutage }), /^\(1\) failing/],
    ['paused', shopWith({ budget: paused }), /^well/],
    ['reload-refused', shop(), /^\(1\) failing/, { reloadFailure }],
    ['10000-applications', large(), /^well/],
    ['refused-key', { accounts: [accountStatus(refused)], blocks: [] }, /^\(1\) failing/],
    ['5-accounts', organisation(5), /^\(1\) failing/],
    ['60-accounts', organisation(60), /^\(6\) failing/],
    ['entities-only', entitiesOnly(), /^well/],
    ['hostile-names', fleet(16), /^\(3\) failing/],
    ['faults', faulty(), /^\(201\) failing/, { reloadFailure }],
  ])(
    '%s has no overflow at three widths, enough contrast in both colours and no error',
    async (name, shown, verdict, over) => {
      // On a busy machine the looks take longer than the page stays.
      await open('/?refresh=0&open=1', shown, over);
      expect(await page.title()).toMatch(verdict);
      await page.evaluate(AXE);
      for (const width of [400, 900, 1_400]) {
        await page.setViewportSize({ width, height: 1_800 });
        expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
        // Colours depend on the scheme, not on the width.
        if (width !== 900 && PICTURES === undefined) continue;
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          if (PICTURES !== undefined)
            await page.screenshot({ path: `${PICTURES}/status-page-${name}-${width}-${colorScheme}.png` });
          if (width === 900) expect(await page.evaluate<string[]>(CONTRAST_FAULTS)).toEqual([]);
        }
      }
      expect(complaints).toEqual([]);
    },
  );

  test('the picture of README is what the demo shows', async () => {
    const demo = await startExporter({ args: ['demo', '--listen-address=127.0.0.1:0'] });
    onTestFinished(async () => {
      await demo.stop();
    });
    const picture = await browser.newPage({ viewport: { width: 1_400, height: 1_000 } });
    await eventually(async () => {
      await picture.goto(demo.url);
      expect(await picture.title()).toMatch(/^\(\d+\) trouble/);
      expect(await picture.textContent('body')).toMatch(/ in trouble: .*Checkout API \(health red, errors \d/);
    });
    await picture.screenshot({ path: PICTURE });
    await picture.close();
  });

  test.each([1_100, 900, 1_280, 1_300])('no word of a table breaks at %d pixels', async (width) => {
    await page.setViewportSize({ width, height: 900 });
    await open('/?refresh=0', faulty());
    // A cell of one word is as high as a line.
    const broken = await page.evaluate<
      string[]
    >(`[...document.querySelectorAll('td:not(.long), tbody th')].flatMap((cell) => {
      const range = document.createRange();
      return [...cell.textContent.matchAll(/\\S+/g)].flatMap(({ 0: word, index }) => {
        const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        for (let node = walker.nextNode(), at = 0; node !== null; at += node.length, node = walker.nextNode()) {
          const start = index - at;
          if (start < 0 || start + word.length > node.length) continue;
          range.setStart(node, start);
          range.setEnd(node, start + word.length);
          return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1 ? [word] : [];
        }
        return [];
      });
    })`);
    expect(broken).toEqual([]);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    expect(complaints).toEqual([]);
  });
});
