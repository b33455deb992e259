import description from '../../package.json' with { type: 'json' };

/** Where people find the project; upstream sees it in the user agent. */
export const HOME = 'https://github.com/newrelic-apm-exporter/newrelic-apm-exporter';

export const { name: NAME, version: VERSION } = description;

export const USER_AGENT = `${NAME}/${VERSION} (+${HOME})`;
