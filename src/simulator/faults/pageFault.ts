import type { FaultRule } from './rule.ts';

/** Faults of the pages of a list: no last page, every id twice, a page that names itself as the next. */
export type PageFault = 'endless-pages' | 'repeat-ids' | 'repeat-next';

/** The page fault of a rule, if it has one. */
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
