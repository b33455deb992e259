import type { FaultRule } from './rule.ts';

/** Ways a list can lead a client astray: pages without end, ids twice, a page that leads to itself. */
export type PageFault = 'endless-pages' | 'repeat-ids' | 'repeat-next';

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
