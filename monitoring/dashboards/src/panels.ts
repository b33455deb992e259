import type { DynamicConfigValue } from '@grafana/grafana-foundation-sdk/dashboard';
import {
  DashboardLinkBuilder,
  MappingType,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import {
  BigValueTextMode,
  LegendDisplayMode,
  LegendPlacement,
  ReduceDataOptionsBuilder,
  StackingConfigBuilder,
  StackingMode,
  TableCellDisplayMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { DATASOURCE } from './variables.ts';

/** Texts of every panel. The unit is a Grafana unit id. */
export interface Heading {
  readonly title: string;
  readonly description: string;
  readonly unit: string;
}

/** A query and the legend of its series. */
export type Line = readonly [expression: string, legend: string];

/** A column of a table: title, expression (one series per row), unit, and optionally colour steps or value names. */
export interface Column {
  readonly title: string;
  readonly expression: string;
  readonly unit: string;
  readonly display?: readonly DynamicConfigValue[];
}

const REF_IDS = 'ABCDEFGHIJKLMNOP';

function query(expression: string, index: number): DataqueryBuilder {
  return new DataqueryBuilder().expr(expression).refId(REF_IDS.charAt(index)).datasource(DATASOURCE);
}

/** Draws lines over time, half of the width by default. */
export function lines(heading: Heading, queries: readonly Line[], span = 12): TimeseriesBuilder {
  const panel = new TimeseriesBuilder()
    .title(heading.title)
    .description(heading.description)
    .unit(heading.unit)
    .datasource(DATASOURCE)
    .span(span)
    .height(8)
    .lineWidth(1)
    .fillOpacity(5)
    .showPoints(VisibilityMode.Never)
    // Values come once a minute, so draw longer gaps as gaps.
    .spanNulls(120_000)
    .legend(
      new VizLegendOptionsBuilder()
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom)
        .showLegend(true),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi));
  queries.forEach(([expression, legend], index) =>
    panel.withTarget(query(expression, index).range().legendFormat(legend)),
  );
  return panel;
}

/** Draws stacked areas. */
export function stacked(
  heading: Heading,
  queries: readonly Line[],
  span = 12,
  mode: StackingMode = StackingMode.Normal,
): TimeseriesBuilder {
  return lines(heading, queries, span).fillOpacity(60).stacking(new StackingConfigBuilder().mode(mode).group('A'));
}

/** Takes a query out of a stack, and draws it as a line above. */
export const LINE_OVER_STACK: DynamicConfigValue[] = [
  { id: 'custom.stacking', value: { mode: StackingMode.None, group: 'B' } },
  { id: 'custom.fillOpacity', value: 0 },
  { id: 'custom.lineWidth', value: 2 },
  { id: 'color', value: { mode: 'fixed', fixedColor: 'text' } },
];

/** Shows the latest value in large type. Six of these fill a row. */
export function stat(heading: Heading, queries: readonly Line[], span = 4): StatBuilder {
  const panel = new StatBuilder()
    .title(heading.title)
    .description(heading.description)
    .unit(heading.unit)
    .datasource(DATASOURCE)
    .span(span)
    .height(4)
    .noValue('no data')
    .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']));
  queries.forEach(([expression, legend], index) =>
    panel.withTarget(query(expression, index).instant().legendFormat(legend)),
  );
  return panel;
}

/** Shows the name of the only series, such as the current health status. */
export function nameStat(heading: Heading, line: Line, span = 4): StatBuilder {
  return stat(heading, [line], span).textMode(BigValueTextMode.Name);
}

/** Shows a table of entities. The common labels of the queries are the first columns. */
export function table(heading: Heading, columns: readonly Column[]): TableBuilder {
  const panel = new TableBuilder()
    .title(heading.title)
    .description(heading.description)
    .unit(heading.unit)
    .datasource(DATASOURCE)
    .span(24)
    .height(10)
    .cellOptions({ type: TableCellDisplayMode.Auto })
    .filterable(true);
  columns.forEach(({ title, expression, unit, display }, index) =>
    panel
      .withTarget(query(expression, index).instant().format(PromQueryFormat.Table))
      .overrideByName(title, [{ id: 'unit', value: unit }, ...(display ?? [])]),
  );
  const titles: Record<string, string> = {};
  columns.forEach(({ title }, index) => (titles[`Value #${REF_IDS.charAt(index)}`] = title));
  return panel.withTransformation({ id: 'merge', options: {} }).withTransformation({
    id: 'organize',
    options: { excludeByName: { Time: true }, renameByName: titles },
  });
}

/** Builds colour steps, lowest first; the first has no bound. */
export function steps(...bounds: readonly (readonly [color: string, from: number | null])[]): ThresholdsConfigBuilder {
  return new ThresholdsConfigBuilder()
    .mode(ThresholdsMode.Absolute)
    .steps(bounds.map(([color, value]) => ({ color, value })));
}

/** Makes a table column a link; `address` may name other columns as `${__data.fields.name}`. */
export function columnLink(title: string, address: string): DynamicConfigValue[] {
  return [{ id: 'links', value: [{ title, url: address }] }];
}

const colourBy = (thresholds: ThresholdsConfigBuilder): DynamicConfigValue[] => [
  { id: 'thresholds', value: thresholds.build() },
  { id: 'custom.cellOptions', value: { type: 'color-text' } },
];

export const APDEX_STEPS = steps(['red', null], ['orange', 0.5], ['yellow', 0.7], ['green', 0.85]);
export const ERROR_STEPS = steps(['green', null], ['orange', 0.05], ['red', 0.25]);
export const APDEX_COLUMN = colourBy(APDEX_STEPS);
export const ERROR_COLUMN = colourBy(ERROR_STEPS);

/** Names and colours for the result of `healthRank`. */
export const HEALTH_COLUMN: DynamicConfigValue[] = [
  {
    id: 'mappings',
    value: [
      {
        type: MappingType.ValueToText,
        options: {
          '0': { text: 'gray or unknown', color: 'text', index: 0 },
          '1': { text: 'green', color: 'green', index: 1 },
          '2': { text: 'orange', color: 'orange', index: 2 },
          '3': { text: 'red', color: 'red', index: 3 },
        },
      },
    ],
  },
  { id: 'custom.cellOptions', value: { type: 'color-text' } },
];

/** Builds a link in the head of a dashboard. It passes on the variables and the time range. */
export function dashboardLink(title: string, uid: string): DashboardLinkBuilder {
  return new DashboardLinkBuilder(title).url(`/d/${uid}`).includeVars(true).keepTime(true);
}
