import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { skippedName } from '../real/support/skipMark.ts';
import { failing, faulty, fleet, HOSTILE_NAMES } from './statusPage/fleet.ts';
import { serve, testApp } from './support/app.ts';
import { TEST_NOW } from './support/collector.ts';

const EXECUTABLE = process.env.CHROMIUM ?? '/usr/bin/chromium';
const OUTPUT = fileURLToPath(new URL('../../test-output/', import.meta.url));
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const missing = !existsSync(EXECUTABLE);
if (missing && process.env.REQUIRE_REAL === '1') {
  throw new Error(`REQUIRE_REAL=1, but there is no Chromium at ${EXECUTABLE} (set CHROMIUM)`);
}
const NAME = 'the status page in Chromium';

describe.skipIf(missing)(missing ? skippedName(NAME, `no Chromium at ${EXECUTABLE} (set CHROMIUM)`) : NAME, () => {
  let browser: Browser;

  beforeAll(async () => {
    mkdirSync(OUTPUT, { recursive: true });
    browser = await chromium.launch({ executablePath: EXECUTABLE, headless: true, args: FLAGS });
  });

  afterAll(async () => {
    await browser.close();
  });

  /** Opens the page of a large fleet; everything the browser complains about is collected. */
  async function open(
    options: Parameters<Browser['newPage']>[0],
    shown = fleet(),
    reloadFailure?: ReturnType<typeof testApp>['reloadFailure'],
  ): Promise<{ page: Page; complaints: string[] }> {
    const app = testApp();
    app.reloadFailure = reloadFailure;
    Object.assign(app.collector, shown);
    const { origin } = await serve(app.app);
    const page = await browser.newPage(options);
    const complaints: string[] = [];
    page.on('console', (message) => void complaints.push(message.text()));
    page.on('pageerror', (error) => void complaints.push(error.message));
    page.on('dialog', (dialog) => {
      complaints.push(dialog.message());
      dialog.dismiss().catch(() => undefined);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:')) complaints.push(request.url());
    });
    await page.goto(`${origin}/`);
    return { page, complaints };
  }

  test.each([
    ['desktop-light', { viewport: { width: 1280, height: 900 }, colorScheme: 'light' }],
    ['desktop-dark', { viewport: { width: 1280, height: 900 }, colorScheme: 'dark' }],
    ['phone-light', { viewport: { width: 375, height: 800 }, colorScheme: 'light' }],
    ['phone-dark', { viewport: { width: 375, height: 800 }, colorScheme: 'dark' }],
  ] as const)('%s: styled, drawn, nothing complained about, nothing wider than the screen', async (name, options) => {
    const { page, complaints } = await open(options, fleet(16));
    await page.screenshot({ path: `${OUTPUT}status-page-${name}.png`, fullPage: true });
    expect(complaints).toEqual([]);
    expect(await page.title()).toBe('newrelic-apm-exporter');
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      options.viewport.width,
    );
    expect(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')).toBe(
      options.colorScheme === 'dark' ? 'rgb(20, 24, 29)' : 'rgb(245, 246, 248)',
    );
    const bar = await page.locator('svg.bar').first().boundingBox();
    expect(bar?.width).toBeGreaterThan(250);
    expect(bar?.height).toBeGreaterThan(15);
    await page.close();
  });

  test.each([
    ['desktop', { width: 1280, height: 900 }],
    ['phone', { width: 375, height: 800 }],
  ] as const)('under faults, on a %s: what fails stands out, nothing wider than the screen', async (name, viewport) => {
    const { page, complaints } = await open({ viewport }, faulty());
    await page.screenshot({ path: `${OUTPUT}status-page-faults-${name}.png`, fullPage: true });
    expect(complaints).toEqual([]);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(viewport.width);
    expect(await page.getByText('up, 10 failing').count()).toBe(1);
    expect(await page.getByText(/New Relic ends the REST API/).count()).toBe(2);
    await page.close();
  });

  test.each([0, 5, 200])('with %d failing: one row for each reason, nothing wider than the screen', async (count) => {
    const diagnostics = ['config.yaml:12:5: accounts[0].api: must be one of rest, nerdgraph'];
    const reload = count === 0 ? undefined : { at: TEST_NOW - 300, diagnostics };
    const { page, complaints } = await open({}, failing(count), reload);
    await page.evaluate('document.querySelectorAll("details").forEach((each) => (each.open = true))');
    for (const width of [400, 900, 1_400]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    }
    await page.screenshot({ path: `${OUTPUT}status-page-${count}-failing.png` });
    expect(complaints).toEqual([]);
    expect(await page.getByRole('alert').count()).toBe(count === 0 ? 0 : 2);
    expect(await page.getByText(/and \d+ more$/).count()).toBe(count === 200 ? 2 : 0);
    expect(await page.getByText('No failures.').count()).toBe(count === 0 ? 1 : 0);
    await page.close();
  });

  test.each([1_100, 900, 1_280, 1_300])('no word of a table is broken at %d pixels', async (width) => {
    const { page } = await open({ viewport: { width, height: 900 } }, faulty());
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
    await page.close();
  });

  test('hostile names are text and nothing else', async () => {
    const { page, complaints } = await open({ viewport: { width: 1280, height: 900 } }, fleet(30));
    expect(await page.title()).toBe('newrelic-apm-exporter');
    const shown = (await page.locator('h3').allTextContents()).map((text) => text.trim());
    for (const name of HOSTILE_NAMES) expect(shown).toContain(name.trim());
    expect(await page.locator('script, img').count()).toBe(0);
    expect(complaints).toEqual([]);
    await page.close();
  });

  test('searching and turning pages work without JavaScript', async () => {
    const { page } = await open({ javaScriptEnabled: false });
    await page.getByRole('searchbox').fill('shop-9');
    await page.getByRole('button', { name: 'Search' }).click();
    await page.waitForURL(/\?q=shop-9#applications$/);
    // The page shows what was found, not its top.
    expect(await page.evaluate<number>('scrollY').catch(() => -1)).not.toBe(0);
    expect(await page.locator('h3').count()).toBe(10);
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByRole('link', { name: 'Next' }).click();
    await page.waitForURL(/page=2/);
    expect(await page.locator('h3').count()).toBe(50);
    await page.close();
  });

  test('each bar says its parts to a screen reader', async () => {
    const { page } = await open({});
    expect(
      await page.getByRole('img', { name: /Datastore\/Postgres 700 ms, .*Application code 210 ms/ }).count(),
    ).toBeGreaterThan(0);
    await page.close();
  });
});
