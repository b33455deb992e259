import type { ExporterFamily } from '../metrics/catalogueExporter.ts';
import type { Family } from '../metrics/family.ts';

/** The format of an exposition: Prometheus text or OpenMetrics. */
export type Format = 'text' | 'openmetrics';

/**
 * Media type of each format, and the supported versions, the default first. Both text versions allow all names of the
 * exporter.
 */
const WRITTEN: Readonly<Record<Format, { readonly name: string; readonly versions: readonly [string, ...string[]] }>> =
  {
    text: { name: 'text/plain', versions: ['0.0.4', '1.0.0'] },
    openmetrics: { name: 'application/openmetrics-text', versions: ['1.0.0'] },
  };

/** Returns the elements of an `Accept` header that name the format in a supported version. */
function selectElements(format: Format, elements: ReturnType<typeof parse>) {
  const { name: wanted, versions } = WRITTEN[format];
  return elements.filter(
    ({ name, parameters }) => name === wanted && versions.includes(parameters.get('version') ?? versions[0]),
  );
}

/**
 * Schemes that escape names outside the old character set. The exporter has no such names, so it supports every scheme.
 */
const ESCAPING = ['allow-utf-8', 'underscores', 'dots', 'values'];

/**
 * Chooses the format for an `Accept` header. Returns OpenMetrics if the header names a supported version of it, unless
 * text has a higher quality, or the same quality and an earlier position. Returns text for any other header, for `*`,
 * and without a header.
 *
 * Version 1.0.0 of a format repeats the requested escaping scheme in the `Content-Type`. If the client requests none,
 * text names the default scheme (Prometheus, "Scrape protocol content negotiation").
 */
export function negotiate(accept: string | undefined): { readonly format: Format; readonly contentType: string } {
  const elements = parse(accept);
  const named = selectElements('text', elements);
  const text = named.length > 0 ? named : elements.filter(({ name }) => name === 'text/*' || name === '*/*');
  const openMetrics = selectElements('openmetrics', elements).filter(({ quality }) => quality > 0);
  const [first] = openMetrics;
  const isText =
    first === undefined ||
    text.some((other) => {
      const isBefore = named.length > 0 && elements.indexOf(other) < elements.indexOf(first);
      return other.quality > first.quality || (isBefore && other.quality === first.quality);
    });
  const format = isText ? 'text' : 'openmetrics';
  const { name, versions } = WRITTEN[format];
  const accepted = isText ? named.filter(({ quality }) => quality > 0) : openMetrics;
  const [preferred] = accepted.toSorted((a, b) => b.quality - a.quality);
  const version = preferred?.parameters.get('version') ?? versions[0];
  const scheme =
    ESCAPING.find((known) => known === preferred?.parameters.get('escaping')) ??
    (format === 'text' ? 'underscores' : undefined);
  const escaping = version === '1.0.0' && scheme !== undefined ? `; escaping=${scheme}` : '';
  return { format, contentType: `${name}; version=${version}; charset=utf-8${escaping}` };
}

/** True if an `Accept-Encoding` header allows gzip. `gzip;q=0` forbids gzip, even with a `*`. */
export function acceptsGzip(acceptEncoding: string | undefined): boolean {
  const preferences = parse(acceptEncoding);
  const named = preferences.filter(({ name }) => name === 'gzip' || name === 'x-gzip');
  const deciding = named.length > 0 ? named : preferences.filter(({ name }) => name === '*');
  return deciding.some(({ quality }) => quality > 0);
}

/** Parses an `Accept` or `Accept-Encoding` header. Names are in lower case, and qualities are from 0 to 1. */
function parse(header: string | undefined) {
  return (header ?? '')
    .split(',')
    .map((element) => element.split(';').map((part) => part.trim()))
    .map(([name = '', ...parts]) => {
      const parameters = new Map(parts.map(parseParameter));
      const quality = parameters.get('q') ?? '1';
      // RFC 9110, 12.4.2. An invalid quality counts as 0, because the client's preference is unknown.
      const isValid = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(quality);
      return { name: name.toLowerCase(), parameters, quality: isValid ? Number(quality) : 0 };
    });
}

function parseParameter(part: string): readonly [string, string] {
  const [name = '', ...value] = part.split('=');
  return [
    name.trim().toLowerCase(),
    value
      .join('=')
      .trim()
      .replace(/^"(.*)"$/, '$1'),
  ];
}

/** The last line of an OpenMetrics exposition. */
export const END_OF_EXPOSITION = '# EOF\n';

/** Writes the metadata lines of a family. OpenMetrics omits `_total` from the name of a counter, and escapes quotes. */
export function writeMetadata(
  family: Pick<ExporterFamily, 'name' | 'help' | 'type'> & Pick<Family, 'unit'>,
  format: Format,
): string {
  const help = family.help.toWellFormed().replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  if (format === 'text') return `# HELP ${family.name} ${help}\n# TYPE ${family.name} ${family.type}\n`;
  const name = family.type === 'counter' ? family.name.replace(/_total$/, '') : family.name;
  const unit = family.unit !== undefined && name.endsWith(`_${family.unit}`) ? `# UNIT ${name} ${family.unit}\n` : '';
  return `# TYPE ${name} ${family.type}\n${unit}# HELP ${name} ${help.replaceAll('"', '\\"')}\n`;
}
