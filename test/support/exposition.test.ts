import { describe, expect, it } from 'vitest';
import { FormatError, parseOpenMetrics, parseText, value, type ParsedFamily } from './exposition.ts';
import { lint } from './expositionLint.ts';

const HEAD = '# HELP x X.\n# TYPE x gauge\n';
const OM_HEAD = '# TYPE x gauge\n# HELP x X.\n';

describe('the reader of text 0.0.4', () => {
  it('reads names, labels with escapes, values and times', () => {
    const families = parseText(`${HEAD}x{a="q\\"b\\\\n\\n é",constructor=""} -1.5e-7 1700\nx +Inf\n`);
    const expected: ParsedFamily[] = [
      {
        name: 'x',
        type: 'gauge',
        help: 'X.',
        unit: undefined,
        samples: [
          { name: 'x', labels: { a: 'q"b\\n\n é', constructor: '' }, value: -1.5e-7, timestamp: 1700 },
          { name: 'x', labels: {}, value: Infinity, timestamp: undefined },
        ],
      },
    ];
    expect(families).toEqual(expected);
    expect(value(families, 'x', { constructor: '' })).toBe(-1.5e-7);
    expect(() => value(families, 'x')).toThrow('2 samples');
  });

  it.each([
    ['no newline at the end', `${HEAD}x 1`],
    ['carriage return', `${HEAD}x 1\r\n`],
    ['empty line', `${HEAD}\nx 1\n`],
    ['comment', `# hello\n${HEAD}x 1\n`],
    ['sample before its TYPE', `x 1\n${HEAD}`],
    ['TYPE before HELP', '# TYPE x gauge\n# HELP x X.\nx 1\n'],
    ['TYPE twice', `${HEAD}# TYPE x gauge\nx 1\n`],
    ['unknown type', '# TYPE x info\nx 1\n'],
    ['UNIT', '# TYPE x_seconds gauge\n# UNIT x_seconds seconds\nx_seconds 1\n'],
    ['family in two pieces', `${HEAD}x 1\n# TYPE y gauge\ny 1\n# TYPE x gauge\nx{a="1"} 1\n`],
    ['sample of another name', `${HEAD}y 1\n`],
    ['series twice', `${HEAD}x{a="1",b="2"} 1\nx{b="2",a="1"} 2\n`],
    ['label twice', `${HEAD}x{a="1",a="2"} 1\n`],
    ['comma after the last label', `${HEAD}x{a="1",} 1\n`],
    ['empty braces', `${HEAD}x{} 1\n`],
    ['bare quote', `${HEAD}x{a="1"2"} 1\n`],
    ['unknown escape', `${HEAD}x{a="\\t"} 1\n`],
    ['bad label name', `${HEAD}x{a-b="1"} 1\n`],
    ['bad number', `${HEAD}x 1,5\n`],
    ['Nan', `${HEAD}x Nan\n`],
    ['fraction of a time', `${HEAD}x 1 1.5\n`],
    ['escaped quote in HELP', '# HELP x \\"X\\"\n# TYPE x gauge\nx 1\n'],
    ['buckets that fall', '# TYPE x histogram\nx_bucket{le="1"} 2\nx_bucket{le="+Inf"} 1\nx_sum 1\nx_count 1\n'],
    ['no last bucket', '# TYPE x histogram\nx_bucket{le="1"} 1\nx_sum 1\nx_count 1\n'],
    [
      'bytes that are no UTF-8',
      Buffer.concat([Buffer.from(`${HEAD}x{a="`), Buffer.from([0xff]), Buffer.from('"} 1\n')]),
    ],
  ])('refuses: %s', (_, body) => {
    expect(() => parseText(body)).toThrow();
  });
});

describe('the reader of OpenMetrics', () => {
  it('reads units, counters and canonical bounds', () => {
    const body = [
      '# TYPE x_seconds counter',
      '# UNIT x_seconds seconds',
      '# HELP x_seconds \\"X\\".',
      'x_seconds_total{a="1"} 1 1700.5',
      '# TYPE y histogram',
      'y_bucket{le="1.0"} 1',
      'y_bucket{le="+Inf"} 1',
      'y_count 1',
      'y_sum 0.5',
      '# EOF',
      '',
    ].join('\n');
    const families = parseOpenMetrics(body);
    expect(families[0]).toMatchObject({ name: 'x_seconds', type: 'counter', unit: 'seconds', help: '"X".' });
    expect(value(families, 'x_seconds_total')).toBe(1);
  });

  it.each([
    ['no end', `${OM_HEAD}x 1\n`],
    ['end without newline', `${OM_HEAD}x 1\n# EOF`],
    ['something after the end', `${OM_HEAD}x 1\n# EOF\nx{a="1"} 1\n`],
    ['end twice', `${OM_HEAD}x 1\n# EOF\n# EOF\n`],
    ['HELP before TYPE', `${HEAD}x 1\n# EOF\n`],
    ['unit that is not in the name', '# TYPE x gauge\n# UNIT x seconds\nx 1\n# EOF\n'],
    ['bare quote in HELP', '# TYPE x gauge\n# HELP x "X"\nx 1\n# EOF\n'],
    ['quote behind an escaped backslash', '# TYPE x gauge\n# HELP x \\\\"\nx 1\n# EOF\n'],
    ['counter named with _total', '# TYPE x_total counter\nx_total 1\n# EOF\n'],
    ['counter without _total', '# TYPE x counter\nx 1\n# EOF\n'],
    ['untyped', '# TYPE x untyped\nx 1\n# EOF\n'],
    [
      'bound that is no float',
      '# TYPE y histogram\ny_bucket{le="1"} 1\ny_bucket{le="+Inf"} 1\ny_count 1\ny_sum 1\n# EOF\n',
    ],
    ['family named like a sample', '# TYPE x counter\nx_total 1\n# TYPE x_total gauge\nx_total{a="1"} 1\n# EOF\n'],
  ])('refuses: %s', (_, body) => {
    expect(() => parseOpenMetrics(body)).toThrow(FormatError);
  });
});

describe('the lint rules', () => {
  const complaints = (type: string, name: string, sample = name) => {
    return lint(parseText(`# HELP ${name} X.\n# TYPE ${name} ${type}\n${sample} 1\n`));
  };

  it('have nothing to say against a good name', () => {
    expect(complaints('gauge', 'newrelic_application_response_time_seconds')).toEqual([]);
    expect(complaints('counter', 'newrelic_exporter_scrapes_total')).toEqual([]);
    expect(
      complaints('gauge', 'newrelic_application_apdex_requests', 'newrelic_application_apdex_requests{zone="x"}'),
    ).toEqual([]);
  });

  it.each([
    ['gauge', 'newrelic_x_milliseconds', 'newrelic_x_milliseconds', 'use base unit "seconds"'],
    ['gauge', 'newrelic_x_minutes', 'newrelic_x_minutes', 'use base unit "seconds"'],
    ['gauge', 'newrelic_x_megabytes', 'newrelic_x_megabytes', 'use base unit "bytes"'],
    ['counter', 'newrelic_x', 'newrelic_x', 'should have "_total"'],
    ['gauge', 'newrelic_x_total', 'newrelic_x_total', 'should not have "_total"'],
    ['gauge', 'newrelic_x_bucket', 'newrelic_x_bucket', '"_bucket"'],
    ['gauge', 'newrelic_x_count', 'newrelic_x_count', 'reserved suffix'],
    ['gauge', 'newrelic_x', 'newrelic_x{le="1"}', '"le"'],
    ['gauge', 'newrelic_x', 'newrelic_x{quantile="1"}', '"quantile"'],
    ['gauge', 'newrelic_summary_x', 'newrelic_summary_x', "type 'summary'"],
    ['gauge', 'newrelic:x', 'newrelic:x', "':'"],
    ['gauge', 'newrelic_xY', 'newrelic_xY', 'camelCase'],
    ['gauge', 'newrelic_x', 'newrelic_x{appId="1"}', 'camelCase'],
    ['gauge', 'newrelic_used_mb', 'newrelic_used_mb', 'abbreviated'],
    ['gauge', 'other_x', 'other_x', 'prefix'],
    ['gauge', 'newrelic_cpu_percent', 'newrelic_cpu_percent', 'percent'],
    ['gauge', 'newrelic_calls_per_minute', 'newrelic_calls_per_minute', 'per second'],
    ['gauge', 'newrelic_x', 'newrelic_x{region="us"}', 'clashes'],
    ['gauge', 'newrelic_x', 'newrelic_x{a="1"} 2\nnewrelic_x{b="1"}', 'differ'],
    ['gauge', 'newrelic_x', 'newrelic_x 1 1700\nnewrelic_x{a="1"}', 'timestamps'],
    ['gauge', 'newrelic_x', 'newrelic_x NaN\nnewrelic_x{a="1"}', 'NaN'],
  ])('complain about a %s %s (%s): %s', (type, name, sample, complaint) => {
    expect(complaints(type, name, sample).join('\n')).toContain(complaint);
  });

  it('complain about a missing HELP', () => {
    expect(lint(parseText('# TYPE newrelic_x gauge\nnewrelic_x 1\n'))).toEqual(['newrelic_x: no help text']);
  });
});
