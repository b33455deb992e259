import { describe, expect, it } from 'vitest';
import { acceptsGzip, negotiate } from '../../src/exposition/formats.ts';

const OPENMETRICS = 'application/openmetrics-text';
const OF_2_53 = `${OPENMETRICS};version=1.0.0;q=0.5,${OPENMETRICS};version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2`;
const OF_3_5 = `${OPENMETRICS};version=1.0.0;escaping=allow-utf-8;q=0.6,${OPENMETRICS};version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2`;

describe('the format of the exposition', () => {
  it.each([
    [
      'Prometheus 2.42',
      `${OPENMETRICS};version=1.0.0,${OPENMETRICS};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`,
    ],
    ['Prometheus 2.53', OF_2_53],
    ['Prometheus 3.5', OF_3_5],
    ['no version', OPENMETRICS],
    [
      'capitals, spaces and a quoted version',
      'Application/OpenMetrics-Text ; Version="1.0.0" ; Q=0.9, text/plain;q=0.8',
    ],
    ['OpenMetrics with the same quality as anything', `*/*, ${OPENMETRICS}`],
    ['OpenMetrics before text', `${OPENMETRICS}, text/plain`],
    ['text forbidden', `text/plain;q=0, ${OPENMETRICS};q=0.1`],
  ])('is OpenMetrics for %s', (_, accept) => {
    expect(negotiate(accept).format).toBe('openmetrics');
  });

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['anything', '*/*'],
    ['a browser', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
    ['text', 'text/plain;version=0.0.4'],
    ['text before OpenMetrics', `text/plain, ${OPENMETRICS}`],
    ['text preferred', `${OPENMETRICS};q=0.3, text/plain;q=0.5`],
    ['anything else preferred', `${OPENMETRICS};q=0.3, */*;q=0.5`],
    ['OpenMetrics forbidden', `${OPENMETRICS};q=0, */*;q=0.1`],
    ['an unsupported version of OpenMetrics', `${OPENMETRICS};version=0.0.1, text/plain;version=0.0.4;q=0.5`],
    ['an invalid quality', `${OPENMETRICS};q=high, */*;q=0.1`],
    ['protobuf only', 'application/vnd.google.protobuf'],
  ])('is text for %s', (_, accept) => {
    expect(negotiate(accept).format).toBe('text');
  });
});

describe('the content type', () => {
  const TEXT_1 = 'text/plain; version=1.0.0; charset=utf-8; escaping=';
  const OM = `${OPENMETRICS}; version=1.0.0; charset=utf-8`;

  it.each([
    ['Prometheus 2.53', OF_2_53, OM],
    ['Prometheus 3.5', OF_3_5, `${OM}; escaping=allow-utf-8`],
    [
      'Prometheus 3.5 with scrape_protocols: [PrometheusText1.0.0, PrometheusText0.0.4]',
      'text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
      `${TEXT_1}allow-utf-8`,
    ],
    [
      'Prometheus 3.5 with metric_name_validation_scheme: legacy',
      `text/plain;version=1.0.0;escaping=underscores;q=0.6,${OPENMETRICS};version=1.0.0;escaping=underscores;q=0.5,*/*;q=0.2`,
      `${TEXT_1}underscores`,
    ],
    ['text 1.0.0 without a scheme', 'text/plain;version=1.0.0', `${TEXT_1}underscores`],
    ['an invalid scheme', 'text/plain;version=1.0.0;escaping=x\r\ny', `${TEXT_1}underscores`],
    [
      'text 0.0.4 preferred',
      'text/plain;version=1.0.0;q=0.2,text/plain;version=0.0.4;q=0.3',
      'text/plain; version=0.0.4; charset=utf-8',
    ],
    ['no header', undefined, 'text/plain; version=0.0.4; charset=utf-8'],
    ['a browser', 'text/html,*/*;q=0.8', 'text/plain; version=0.0.4; charset=utf-8'],
  ])('is what %s asks for', (_, accept, contentType) => {
    expect(negotiate(accept).contentType).toBe(contentType);
  });
});

describe('gzip', () => {
  it.each(['gzip', 'GZIP', 'x-gzip', 'deflate, gzip;q=0.5', '*', 'identity, *;q=0.1', 'br;q=1, gzip; q=0.001'])(
    'is accepted with Accept-Encoding: %s',
    (header) => {
      expect(acceptsGzip(header)).toBe(true);
    },
  );

  it.each([undefined, '', 'identity', 'br, zstd', 'gzip;q=0', 'gzip;q=0.000, *', '*;q=0', 'gzipped'])(
    'is refused with Accept-Encoding: %s',
    (header) => {
      expect(acceptsGzip(header)).toBe(false);
    },
  );
});
