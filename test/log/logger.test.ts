import fc from 'fast-check';
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { createLogger, errorText, type LogFormat, type LogLevel } from '../../src/log/logger.ts';
import { Secrets } from '../../src/log/secrets.ts';

/** A logger with its written lines, whose time is replaced. */
function recording(format: LogFormat, level: LogLevel = 'info') {
  const written: string[] = [];
  const secrets = new Secrets();
  const destination = {
    write: (text: string | Uint8Array): boolean => {
      written.push(String(text).replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/, 'TIME'));
      return true;
    },
  };
  return { logger: createLogger({ level, format, destination, secrets }), written, secrets };
}

describe('a log line', () => {
  it('in logfmt has time, level and message before its fields', () => {
    const { logger, written } = recording('logfmt');
    logger.child({ account: 'prod' }).warn({ status: 503, again: true, none: null, left: undefined }, 'read failed');
    expect(written).toEqual(['time=TIME level=warn msg="read failed" account=prod status=503 again=true none=null\n']);
  });

  it('in JSON is one object', () => {
    const { logger, written } = recording('json');
    logger.info({ address: '[::1]:9126' }, 'listening');
    expect(written).toEqual(['{"level":"info","time":"TIME","address":"[::1]:9126","msg":"listening"}\n']);
  });

  it.each<[LogLevel, string[]]>([
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['info', ['info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['error', ['error']],
  ])('is written at level %s or above', (level, expected) => {
    const { logger, written } = recording('logfmt', level);
    for (const name of ['debug', 'info', 'warn', 'error'] as const) logger[name]('x');
    expect(written.map((line) => /level=(\w+)/.exec(line)?.[1])).toEqual(expected);
  });

  it.each([
    ['', '""'],
    ['plain', 'plain'],
    ['/a/b?c', '/a/b?c'],
    ['two words', '"two words"'],
    ['a=b', '"a=b"'],
    ['say "hi"', '"say \\"hi\\""'],
    ['back\\slash', '"back\\\\slash"'],
    ['two\nlines\r', '"two\\nlines\\r"'],
    ['\u001b[31mred', '"\\u001b[31mred"'],
    ['\u0085\u2028\u2029', '"\\u0085\\u2028\\u2029"'],
    ['\u202eevil', '"\\u202eevil"'],
    ['é', '"é"'],
  ])('quotes %j as %s', (value, quoted) => {
    const { logger, written } = recording('logfmt');
    logger.info({ value }, 'x');
    expect(written).toEqual([`time=TIME level=info msg=x value=${quoted}\n`]);
  });

  it('has no line break or control character inside, whatever its message and fields', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(text, text, fc.constantFrom('logfmt', 'json'), (message, value, format) => {
        const { logger, written } = recording(format);
        logger.info({ value }, message);
        expect(written).toHaveLength(1);
        expect(written[0]).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]*\n$/u);
      }),
    );
  });

  it('in JSON preserves any value', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (value) => {
        const { logger, written } = recording('json');
        logger.info({ value }, 'x');
        expect(JSON.parse(written[0] ?? '')).toMatchObject({ value });
      }),
    );
  });

  it('includes an error with its causes, and the stack at level debug only', () => {
    const err = new Error('reading failed', { cause: new Error('socket closed', { cause: 'reset' }) });
    const { logger, written } = recording('logfmt');
    logger.error({ err }, 'x');
    expect(written).toEqual(['time=TIME level=error msg=x err="reading failed: socket closed: reset"\n']);
    const debug = recording('logfmt', 'debug');
    debug.logger.error({ err }, 'x');
    expect(debug.written[0]).toContain('reading failed\\n    at ');
    expect(debug.written[0]).toContain('caused by: Error: socket closed');
  });

  it.each(['info', 'debug'] as const)('at level %s includes the stack of an unexpected error', (level) => {
    const { logger, written } = recording('logfmt', level);
    logger.error({ err: errorText(new Error('reading failed', { cause: new Error('socket closed') }), true) }, 'x');
    expect(written[0]).toContain('Error: reading failed\\n    at ');
    expect(written[0]).toContain('caused by: Error: socket closed\\n    at ');
  });

  it('is written for an error that is its own cause', () => {
    const err = new Error('round');
    err.cause = err;
    const { logger, written } = recording('logfmt');
    logger.error({ err }, 'x');
    expect(written[0]).toContain('round: round');
  });

  it.each(['logfmt', 'json'] as const)('in %s hides a secret in every field', (format) => {
    const secret = 'NRAK-a"b\\c/d';
    const { logger, written, secrets } = recording(format, 'debug');
    secrets.add(secret);
    const url = `/x?k=${encodeURIComponent(secret)}`;
    const fields = { err: new Error(`401 ${secret}`, { cause: secret }), url, deep: { in: [secret] } };
    logger.child({ bound: secret }).error(fields, `key ${secret}`);
    expect(written.join('')).not.toContain('NRAK');
    expect(written.join('').match(/<secret>/g)?.length).toBeGreaterThanOrEqual(6);
  });

  it('is on standard error before the process exits, also among many lines', () => {
    const program = `
      import { createLogger } from './src/log/logger.ts';
      import { Secrets } from './src/log/secrets.ts';
      import { openStandardError } from './src/log/output.ts';
      const destination = openStandardError(() => undefined);
      const logger = createLogger({ level: 'info', format: 'logfmt', secrets: new Secrets(), destination });
      for (let n = 0; n < 900; n += 1) logger.info({ n }, 'line');
      process.exit(3);
    `;
    const root = new URL('../../', import.meta.url);
    const flags = ['--import', 'tsx', '--input-type=module', '-e', program];
    const { status, stdout, stderr } = spawnSync(process.execPath, flags, { cwd: root, encoding: 'utf8' });
    expect({ status, stdout }).toEqual({ status: 3, stdout: '' });
    expect(stderr.trimEnd().split('\n').at(-1)).toMatch(/ n=899$/);
    expect(stderr.match(/level=info msg=line n=/g)).toHaveLength(900);
  });
});
