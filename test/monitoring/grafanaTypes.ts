// The types of Grafana's own package that a dashboard is held against: grafanaSchema.test.ts makes schemas from them.
import type * as dashboard from '@grafana/schema/dist/esm/raw/dashboard/x/Dashboard_types.gen';
import type * as stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type * as timeseries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

export type WholeDashboard = dashboard.Dashboard;
export type PanelOfStat = stat.Options;
// eslint-disable-next-line @typescript-eslint/no-deprecated -- the same type under another name is not exported as a type of a panel
export type PanelOfTable = table.Options;
export type FieldsOfTable = table.FieldConfig;
export type PanelOfTimeseries = timeseries.Options;
export type FieldsOfTimeseries = timeseries.FieldConfig;
