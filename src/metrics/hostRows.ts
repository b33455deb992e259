import type { Host, Instance } from '../api/types.ts';
import { rowMaker } from './family.ts';
import { trafficRows } from './rollingRows.ts';
import type { WithRolling } from './rollingRows.ts';
import { healthStatusRow, info } from './stateRows.ts';

/** A host's entry in the list of its application, and its rolling values. */
export interface HostInput extends WithRolling {
  readonly entry: Host;
}

/** An instance's entry in the list of its application, and its rolling values. */
export interface InstanceInput extends WithRolling {
  readonly entry: Instance;
}

const HOSTS = { prefix: 'newrelic_host', group: 'hosts' } as const;
const hostState = rowMaker<HostInput>({ ...HOSTS, timeBase: 'state' });
const hostRolling = rowMaker<HostInput>({ ...HOSTS, timeBase: 'rolling' });

/** Families of hosts: state and rolling values. */
export const HOST = {
  info: hostState({
    suffix: 'info',
    meaning: '1, with what is known about the host',
    source: 'language of the host list',
    nerdgraph: 'the language of the application',
    labelNames: ['language'],
    calculate: ({ entry: { language = '' } }) => info({ language }),
  }),
  healthStatus: healthStatusRow(hostState, 'host', false),
  ...trafficRows(hostRolling, {
    responseTime: "the host's HttpDispatcher of the last 4 minutes",
    requests: "the host's HttpDispatcher of the last 4 minutes",
    errorRatio: "the host's Errors/all / (HttpDispatcher + OtherTransaction/all) of the last 4 minutes",
    apdexScore: "the host's Apdex of the last 4 minutes",
  }),
  rollingInstances: hostRolling({
    suffix: 'rolling_instances',
    meaning: 'Instances that report',
    source: 'application_summary.instance_count',
    nerdgraph: false,
    calculate: ({ entry }) => entry.summary?.instanceCount,
  }),
};

const INSTANCES = { prefix: 'newrelic_instance', group: 'instances' } as const;
const instanceState = rowMaker<InstanceInput>({ ...INSTANCES, timeBase: 'state' });

/** Families of instances: state and rolling values. */
export const INSTANCE = {
  info: instanceState({
    suffix: 'info',
    meaning: '1, with what is known about the instance',
    source: 'language of the instance list',
    nerdgraph: false,
    labelNames: ['language'],
    calculate: ({ entry: { language = '' } }) => info({ language }),
  }),
  healthStatus: healthStatusRow(instanceState, 'instance', false),
  ...trafficRows(rowMaker<InstanceInput>({ ...INSTANCES, timeBase: 'rolling' }), false),
};
