import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { ACCOUNT, APP, EXPORTER, by, select } from './selectors.ts';

/** The data source of every panel, query and variable. */
export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

/** Grafana replaces it by the chosen data source at an import. A provisioned copy takes the first data source. */
export const IMPORTED_DATASOURCE = 'DS_PROMETHEUS';

const ALL = { text: 'All', value: '$__all' };

export function datasource(): DatasourceVariableBuilder {
  const chosen = `\${${IMPORTED_DATASOURCE}}`;
  return new DatasourceVariableBuilder('datasource')
    .label('Data source')
    .type('prometheus')
    .current({ text: chosen, value: chosen });
}

/** Builds `job` and `instance` of every target that serves the family. */
export function jobAndInstance(family: string): QueryVariableBuilder[] {
  return [
    several(query('job', 'Job', `label_values(${family}, job)`)),
    several(query('instance', 'Instance', `label_values(${family}{job=~"$job"}, instance)`)),
  ];
}

export function account(): QueryVariableBuilder {
  return several(query('account', 'Account', `label_values(${select('newrelic_up', EXPORTER)}, account)`));
}

/** Builds `account` for targets of /probe too, which have no `newrelic_up`. */
export function accountOfApplications(): QueryVariableBuilder {
  return several(
    query('account', 'Account', `label_values(${select('newrelic_application_info', EXPORTER)}, account)`),
  );
}

export function application(choice: 'one' | 'several'): QueryVariableBuilder {
  // Applications with the same name differ in account or id, which follow the name.
  const place = 'label_join(' + select('newrelic_application_info', ACCOUNT) + ', "place", ", ", "account", "app_id")';
  const named = `label_join(label_replace(${place}, "place", "($1)", "place", "(.*)"), "app", " ", "app", "place")`;
  const applications = by(['app', 'app_id'], named);
  const variable = query('app', 'Application', `query_result(${applications})`).regex(
    '/app="(?<text>.*)", ?app_id="(?<value>\\d+)"/',
  );
  return choice === 'several' ? several(variable) : variable;
}

export function host(): QueryVariableBuilder {
  const hosts = by(['host', 'host_id'], select('newrelic_host_info', APP));
  return query('host', 'Host', `query_result(${hosts})`).regex('/host="(?<text>.*)", ?host_id="(?<value>[^"]*)"/');
}

export function entityType(matchers: string): QueryVariableBuilder {
  const text = `label_values(${select('newrelic_entity_info', matchers)}, entity_type)`;
  return several(query('entity_type', 'Type', text));
}

/** Builds a variable that shows names and holds guids: names of one type may be equal. */
export function entity(matchers: string): QueryVariableBuilder {
  const entities = by(['entity', 'entity_guid'], select('newrelic_entity_info', matchers));
  return several(
    query('entity', 'Entity', `query_result(${entities})`).regex(
      '/entity="(?<text>.*)", ?entity_guid="(?<value>[^"]*)"/',
    ),
  );
}

/**
 * Builds a variable of family names. Golden metrics have the label `entity_guid`, as have three families of the
 * entity itself.
 */
export function goldenMetric(): QueryVariableBuilder {
  const matchers = '__name__!~"newrelic_entity_(?:info|reporting|health_status)", entity_guid=~"$entity"';
  return query('golden_metric', 'Golden metric', `label_values(${select('', ACCOUNT, matchers)}, __name__)`);
}

function query(name: string, label: string, text: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATASOURCE)
    .query({ query: text, refId: name })
    .definition(text)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalCaseInsensitiveAsc);
}

function several(variable: QueryVariableBuilder): QueryVariableBuilder {
  return variable.multi(true).includeAll(true).allValue('.+').current(ALL);
}
