import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isScalar, parseDocument, stringify } from 'yaml';
import { positionInText } from '../../src/config/yaml/textPosition.ts';

const FORMS = ['PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_FOLDED', 'BLOCK_LITERAL'] as const;

it('the place of each character of a text is found in the file, however the text is written', () => {
  const word = fc.constantFrom('SELECT', "'it''s'", '"a"', '\\', '🙂', '`x y`', '-', ':', 'ü', '#', '(a, b)', '/*');
  const space = fc.constantFrom(' ', '  ', '\n', '\n\n');
  const text = fc
    .array(fc.tuple(word, space), { minLength: 1, maxLength: 30 })
    .map((pairs) => pairs.flat().join('').trim());
  fc.assert(
    fc.property(text, fc.constantFrom(...FORMS), fc.integer({ min: 20, max: 100 }), (value, form, lineWidth) => {
      const file = `first: 1\n${stringify({ a: { b: value } }, { defaultStringType: form, lineWidth })}last: 2\n`;
      const node = parseDocument(file).getIn(['a', 'b'], true);
      if (!isScalar<string>(node)) throw new Error('there is no value');
      // The library may write a text so that it reads it otherwise.
      for (const [at, character] of Array.from(
        { length: node.value.length },
        (_, index) => node.value[index],
      ).entries()) {
        if (/\s/.test(character ?? '')) continue;
        const written = file[positionInText(file, node, [], at)];
        expect(written === '\\' || written === character).toBe(true);
      }
    }),
  );
});
