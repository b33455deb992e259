import process from 'node:process';
import description from '../../package.json' with { type: 'json' };

/** Set by scripts/build.ts: the commit that was built. */
declare const BUILT_REVISION: string | undefined;

/** The address of the project (`homepage` of package.json); New Relic receives it in the user agent. */
export const [HOME = ''] = description.homepage.split('#', 1);

export const { name: NAME, version: VERSION } = description;

export const USER_AGENT = `${NAME}/${VERSION} (+${HOME})`;

/** The commit that was built: the image's REVISION, else the commit recorded by the build. */
export const REVISION =
  process.env['REVISION'] ?? (typeof BUILT_REVISION === 'string' ? BUILT_REVISION : undefined) ?? 'unknown';
