import type { Answer } from '../wire/answer.ts';
import type { Format } from '../wire/write.ts';
import type { Rendered } from '../wire/write.ts';
import { render } from '../wire/write.ts';
import { mapFigures, withBadRecord, withNumbers, withWrongShape } from './corrupt.ts';
import type { FaultRule } from './rule.ts';

/** The answer of the service after a rule has spoilt its body; as it is under the other effects. */
export function distort(rule: FaultRule | undefined, answer: Answer, format: Format): Rendered {
  switch (rule?.effect) {
    case 'malformed': {
      const rendered = render(answer, format);
      return { ...rendered, text: rendered.text.slice(0, Math.ceil(rendered.text.length / 2)) };
    }
    case 'wrong-shape':
      return render({ ...answer, body: withWrongShape(answer.body) }, format);
    case 'bad-record':
      return render({ ...answer, body: withBadRecord(answer.body) }, format);
    case 'nulls':
      return render({ ...answer, body: mapFigures(answer.body, () => null) }, format);
    case 'strings':
      return render({ ...answer, body: mapFigures(answer.body, String) }, format);
    case 'numbers': {
      const { value } = rule;
      const rendered = render({ ...answer, body: mapFigures(answer.body, () => value) }, format);
      return format === 'xml' ? rendered : { ...rendered, text: withNumbers(answer.body, value) };
    }
    default:
      return render(answer, format);
  }
}
