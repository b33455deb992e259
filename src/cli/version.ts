import { readFileSync } from 'node:fs';
import { z } from 'zod';

const PACKAGE = z.object({ name: z.string(), version: z.string() });

/** Where people find the project; upstream sees it in the user agent. */
export const HOME = 'https://github.com/newrelic-apm-exporter/newrelic-apm-exporter';

/** Name and version from package.json, which stands beside `src` and `dist` alike. */
export const { name: NAME, version: VERSION } = PACKAGE.parse(
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')),
);

export const USER_AGENT = `${NAME}/${VERSION} (+${HOME})`;
