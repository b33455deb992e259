import { RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import type { ClassicDashboard } from './frame.ts';
import { frame } from './frame.ts';
import { HEALTH_COLUMN, lines, stat, steps, table } from './panels.ts';
import { ACCOUNT, by, healthRank, select } from './selectors.ts';
import { account, datasource, entity, entityType, goldenMetric, jobAndInstance } from './variables.ts';

const OF_TYPE = `${ACCOUNT}, entity_type=~"$entity_type"`;
const CHOSEN = `${OF_TYPE}, entity_guid=~"$entity"`;
const IDS = ['account', 'entity_type', 'entity', 'entity_guid'];
const EMPTY = 'Empty without entities.';

const each = (family: string): string => by(IDS, select(`newrelic_entity_${family}`, CHOSEN));

/** Shows entities of any type with their golden metrics, whose names are not known in advance. */
export function entitiesDashboard(): ClassicDashboard {
  return frame('entities', 'Entities of any type with the golden metrics that New Relic defines for them.', [
    datasource(),
    ...jobAndInstance('newrelic_exporter_build_info'),
    account(),
    entityType(ACCOUNT),
    entity(OF_TYPE),
    goldenMetric(),
  ])
    .withRow(new RowBuilder('Now'))
    .withPanel(
      stat({ title: 'Entities', description: `Entities that are exported. ${EMPTY}`, unit: 'short' }, [
        [`count(${each('info')})`, 'entities'],
      ]),
    )
    .withPanel(
      stat(
        {
          title: 'Not reporting',
          description: 'Entities that send nothing; their golden metrics are not read.',
          unit: 'short',
        },
        [[`count(${each('reporting')} == 0) or vector(0)`, 'not reporting']],
      ).thresholds(steps(['green', null], ['orange', 1])),
    )
    .withPanel(
      stat({ title: 'Left out', description: 'Entities beyond max_entities, which are not exported.', unit: 'short' }, [
        [
          `sum(${by(['account', 'entity_type'], select('newrelic_exporter_entities_left_out', OF_TYPE))}) or vector(0)`,
          'left out',
        ],
      ]).thresholds(steps(['green', null], ['orange', 1])),
    )
    .withRow(new RowBuilder('Golden metric'))
    .withPanel(
      lines(
        {
          title: '$golden_metric',
          description: `The golden metric that is chosen above, of each entity that has it, in the unit that New Relic uses: docs/entities.md. ${EMPTY}`,
          unit: 'short',
        },
        [
          [
            by(
              ['account', 'entity', 'entity_guid', 'percentile'],
              select('', ACCOUNT, '__name__=~"$golden_metric", entity_guid=~"$entity"'),
            ),
            '{{entity}} {{percentile}} ({{account}})',
          ],
        ],
        24,
      ),
    )
    .withRow(new RowBuilder('Entities'))
    .withPanel(
      table({ title: 'Entities', description: `Every entity of the chosen types. ${EMPTY}`, unit: 'short' }, [
        { title: 'Reporting', expression: each('reporting'), unit: 'bool_yes_no' },
        {
          title: 'Health',
          expression: healthRank('newrelic_entity_health_status', CHOSEN, IDS),
          unit: 'short',
          display: HEALTH_COLUMN,
        },
      ]),
    )
    .build();
}
