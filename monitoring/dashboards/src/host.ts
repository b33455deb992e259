import { RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard';
import type { ClassicDashboard } from './frame.ts';
import { frame } from './frame.ts';
import { lines } from './panels.ts';
import { breakdown, charts, figures, window } from './scopePanels.ts';
import { accountOfApplications, application, datasource, host, jobAndInstance } from './variables.ts';

/** Shows one host of one application, with the same charts as the application. */
export function hostDashboard(): ClassicDashboard {
  const dashboard = frame('host', 'One host of one application.', [
    datasource(),
    ...jobAndInstance('newrelic_host_info'),
    accountOfApplications(),
    application('one'),
    host(),
  ]).withRow(new RowBuilder('Now'));
  for (const panel of figures('host')) dashboard.withPanel(panel);

  dashboard.withRow(new RowBuilder('Web transactions')).withPanel(breakdown('host'));
  for (const panel of charts('host')) dashboard.withPanel(panel);

  return dashboard
    .withRow(new RowBuilder('Machine'))
    .withPanel(
      lines(
        {
          title: 'Memory of a process',
          description: 'Physical memory of a process, the mean over the processes of the application on this host.',
          unit: 'bytes',
        },
        [[window('host', 'memory_used_bytes'), 'memory of a process']],
      ).min(0),
    )
    .withPanel(
      lines(
        {
          title: 'CPU',
          description: 'User time over wall clock; several processes can exceed 100%.',
          unit: 'percentunit',
        },
        [[window('host', 'cpu_usage_ratio'), 'CPU']],
      ).min(0),
    )
    .build();
}
