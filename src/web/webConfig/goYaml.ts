import type { ScalarTag } from 'yaml';

const BOOLEAN = /^(?:[yYnN]|yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/;
const INTEGER = /^[-+]?(?:0x[0-9a-f_]+|0b[01_]+|0o?[0-7_]*|[1-9][0-9_]*)$/i;
const FLOAT = /^[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:e[-+]?[0-9]+)?$/i;

/** Parses a whole number as Go's strconv.ParseInt with base 0: a leading 0 means octal. */
function parseInteger(text: string): number {
  const digits = text.replaceAll('_', '').replace(/^[-+]/, '');
  const value = Number(/^0[0-7]+$/.test(digits) ? `0o${digits}` : digits);
  return text.startsWith('-') ? -value : value;
}

const createTag = (name: string, test: RegExp, resolve: (text: string) => unknown): ScalarTag => {
  return { tag: `tag:yaml.org,2002:${name}`, default: true, test, resolve };
};

/**
 * The YAML dialect of the exporter toolkit, which uses Go's package yaml.v2: the types of YAML 1.1, merge keys, and any
 * plain value as text where text is expected.
 */
export const GO_YAML: readonly ScalarTag[] = [
  createTag('null', /^(?:~|null|Null|NULL)?$/, () => null),
  createTag('bool', BOOLEAN, (text) => /^(?:y|yes|true|on)$/i.test(text)),
  createTag('int', INTEGER, parseInteger),
  createTag('float', FLOAT, (text) => Number(text.replaceAll('_', ''))),
];

/** Nanoseconds in the units of Go's time.ParseDuration. */
const UNITS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3_600e9,
};

/** Parses a duration of Go, such as `1m30s` or `0.5s`, into milliseconds. Returns undefined for any other text. */
export function parseGoDuration(text: string): number | undefined {
  if (/^[-+]?0$/.test(text)) return 0;
  const [, sign, amounts = ''] =
    /^([-+]?)((?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|[u\u00b5\u03bc]s|ms|s|m|h))+)$/.exec(text) ?? [];
  if (amounts === '') return undefined;
  const parts = [...amounts.matchAll(/(?<![0-9.])([0-9.]+)([^0-9.]+)/g)];
  const nanoseconds = parts.reduce((total, [, count, unit = '']) => total + Number(count) * (UNITS[unit] ?? NaN), 0);
  // Go counts in whole nanoseconds.
  return (sign === '-' ? -1 : 1) * (Math.trunc(nanoseconds) / 1e6);
}
