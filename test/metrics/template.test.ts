import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTemplate, TemplateError } from '../../src/metrics/customMetrics.ts';

describe('parseTemplate', () => {
  it.each([
    ['Custom//depth', 'Segment 2 of the template is empty'],
    ['/Custom', 'Segment 1 of the template is empty'],
    ['Custom/', 'Segment 2 of the template is empty'],
    ['', 'Segment 1 of the template is empty'],
    ['Custom/**/depth', 'Segment 2 of the template is ** but not the last'],
    [
      'Custom/{queue}x',
      'Segment 2 of the template has more than {label}, * or **: these stand for whole segments only',
    ],
    ['Custom/a*', 'has more than {label}'],
    ['Custom/***', 'has more than {label}'],
    ['Custom/{queue', 'has more than {label}'],
    ['Custom/{}', 'captures a name that is no label name'],
    ['Custom/{1st}', 'captures a name that is no label name'],
    ['Custom/{a-b}', 'captures a name that is no label name'],
    ['Custom/{__name}', 'captures a name that is no label name'],
    ['Custom/{app}', 'captures a label that the series has already'],
    ['Custom/{host}', 'captures a label that the series has already'],
    ['Custom/{instance}', 'captures a label that the series has already'],
    ['Custom/{a}/{a}', 'captures two segments under one name'],
    ['{a}/{b}', 'needs a literal part of at least 3 characters'],
    ['*/**', 'needs a literal part of at least 3 characters'],
    ['ab/{c}', 'needs a literal part of at least 3 characters'],
    ['{a}/bc/{d}', 'needs a literal part of at least 3 characters'],
    ['Custom\nX/{c}', 'has a line break'],
  ])('refuses %j', (match, message) => {
    expect(() => parseTemplate(match)).toThrow(TemplateError);
    expect(() => parseTemplate(match)).toThrow(message);
  });

  it('gives the captured names in their order', () => {
    expect(parseTemplate('Custom/{queue}/*/{zone}/**').labelNames).toEqual(['queue', 'zone']);
    expect(parseTemplate('Custom/Queue').labelNames).toEqual([]);
  });
});

describe('the pattern of a template', () => {
  it.each([
    ['Custom/Queue/{queue}/depth', 'Custom/Queue/mail/depth', { queue: 'mail' }],
    ['Custom/Queue/{queue}/depth', 'Custom/Queue/a b [c] 100%/depth', { queue: 'a b [c] 100%' }],
    ['Custom/Queue/{queue}/depth', 'Custom/Queue//depth', undefined],
    ['Custom/Queue/{queue}/depth', 'Custom/Queue/mail/extra/depth', undefined],
    ['Custom/Queue/{queue}/depth', 'Custom/Queue/mail/depth/more', undefined],
    ['Custom/Queue/{queue}/depth', 'Custom/Queue/mail', undefined],
    ['Custom/Queue/{queue}/depth', 'custom/queue/mail/depth', undefined],
    ['Custom/Queue/{queue}/depth', 'Custom/Queue/mail/length', undefined],
    ['Custom/Queue', 'Custom/Queue', {}],
    ['Custom/*/{queue}', 'Custom/a/b', { queue: 'b' }],
    ['Custom/*/{queue}', 'Custom//b', undefined],
    ['Custom/{queue}/**', 'Custom/a/b', { queue: 'a' }],
    ['Custom/{queue}/**', 'Custom/a/b/c/d', { queue: 'a' }],
    ['Custom/{queue}/**', 'Custom/a', undefined],
    ['Custom/{queue}/**', 'Custom/a/', { queue: 'a' }],
    ['Custom.x/{queue}', 'CustomXx/a', undefined],
    ['Custom.x+[1]/{constructor}', 'Custom.x+[1]/a', { constructor: 'a' }],
  ])('finds the labels of %s on %s', (match, name, expected) => {
    const found = parseTemplate(match).pattern.exec(name);
    expect(found === null ? undefined : { ...found.groups }).toEqual(expected);
  });
});

describe('the filter of a template', () => {
  it.each([
    ['Custom/Queue/{queue}/depth', 'Custom/Queue/'],
    ['{a}/Custom/Queue', '/Custom/Queue'],
    ['Custom/{a}/Longest/part/*/x', '/Longest/part/'],
    ['{a}/bc/{d}/xyz', '/xyz'],
    ['abc/{a}/xyz', 'abc/'],
    ['Custom/Queue/depth', 'Custom/Queue/depth'],
    ['Custom/**', 'Custom/'],
  ])('of %s is %s', (match, expected) => {
    expect(parseTemplate(match).filter).toBe(expected);
  });

  it('is part of every matching name', () => {
    const word = fc.stringMatching(/^[a-zA-Z0-9 .%[\]-]{1,8}$/);
    const segment = fc.oneof(
      word.map((text) => ({ template: text, name: text })),
      word.map((text) => ({ template: '*', name: text })),
    );
    fc.assert(
      fc.property(fc.array(segment, { minLength: 1, maxLength: 6 }), fc.boolean(), (segments, open) => {
        const match = ['Custom', ...segments.map(({ template }) => template), ...(open ? ['**'] : [])].join('/');
        const name = ['Custom', ...segments.map((each) => each.name), ...(open ? ['x', 'y'] : [])].join('/');
        const { pattern, filter } = parseTemplate(match);
        expect(name).toMatch(pattern);
        expect(name).toContain(filter);
      }),
    );
  });
});
