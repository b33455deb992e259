import process from 'node:process';
import description from '../../package.json' with { type: 'json' };

/** The commit of the build; scripts/build.ts sets it. */
declare const BUILT_REVISION: string | undefined;

/** The address of the project, from `homepage` of package.json. */
export const [HOME = ''] = description.homepage.split('#', 1);

export const { name: NAME, version: VERSION } = description;

export const USER_AGENT = `${NAME}/${VERSION} (+${HOME})`;

/** The commit of the build: REVISION of the image, or else the commit that the build recorded. */
export const REVISION =
  process.env['REVISION'] ?? (typeof BUILT_REVISION === 'string' ? BUILT_REVISION : undefined) ?? 'unknown';
