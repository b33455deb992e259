import type { Answer } from '../http/answer.ts';
import type { PageFault } from '../http/pagination.ts';
import type { Format } from '../http/route.ts';
import type { Rendered } from '../http/write.ts';
import { render } from '../http/write.ts';
import { mapFigures, withBadRecord, withNumbers, withWrongShape } from './corrupt.ts';
import type { FaultRule } from './rule.ts';

/** The way a rule makes a list lead astray, if it does. */
export function pageFaultOf(rule: FaultRule | undefined): PageFault | undefined {
  switch (rule?.effect) {
    case 'endless-pages':
    case 'repeat-ids':
    case 'repeat-next':
      return rule.effect;
    default:
      return undefined;
  }
}

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
