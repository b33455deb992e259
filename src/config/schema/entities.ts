import * as z from 'zod';
import { choice, tagMatch } from './entityMatch.ts';
import { duration, list, notes, ownDelay, text, whole } from './parts.ts';

/** NerdGraph's form of a type, domain first. */
const ENTITY_TYPE = /^[A-Z0-9_]+-[A-Z0-9_]+$/;

export const entitySelection = z.strictObject({
  type: notes(z.string().regex(ENTITY_TYPE, 'is not DOMAIN-TYPE in capitals, such as EXT-SERVICE'), {
    description: 'The type, as NerdGraph names it: `DOMAIN-TYPE`. Each type once in an account.',
    placeholder: '<DOMAIN-TYPE>',
    example: 'EXT-SERVICE',
  }),
  ...choice(tagMatch, 'entities', 'every entity of the type', [
    [{ name: 'checkout-*' }, { tag: 'environment', value: 'production' }],
    [{ name: 'mail-*' }],
  ]),
  metrics: notes(list(text(), 1).optional(), {
    description: "Only these golden metrics, by New Relic's names.",
    otherwise: 'all golden metrics of the type',
    example: ['responseTimeMs', 'throughput'],
  }),
  tags: notes(list(text()).prefault([]), {
    description: 'Tags that become labels of `newrelic_entity_info`, by their keys, whose case does not count.',
    example: ['team'],
  }),
  window: notes(duration({ min: '1m', wholeMinutes: true, max: '366d' }).optional(), {
    description: 'Time range of the values, in whole minutes.',
    otherwise: '`collection.window`',
    example: '5m',
  }),
  delay: ownDelay,
  interval: notes(duration({ min: '1m' }).prefault('1m'), { description: 'How often the values are read at most.' }),
  max_entities: notes(whole(1).default(1_000), {
    description:
      'Entities at most, by name and guid; what is beyond is left out, counted in ' +
      '`newrelic_exporter_entities_left_out`, and logged once.',
  }),
});
