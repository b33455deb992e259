import { cpuRatio, memoryBytes } from '../formulas/machine.ts';
import { METRIC } from '../formulas/names.ts';
import type { Scope } from './family.ts';
import { read } from './windowRow.ts';
import type { WindowRow, WindowRowMaker } from './windowRow.ts';

/** Memory and processor time. */
export function machineRows(row: WindowRowMaker, scope: Scope) {
  return {
    memory: scope === 'application' ? applicationMemory(row) : hostMemory(row),
    cpu: row({
      suffix: 'cpu_usage_ratio',
      meaning: 'CPU time per wall clock time, above 1 with several processes',
      source: 'CPU/User Time:percent / 100',
      reads: { cpu: read(METRIC.cpu, 'percent') },
      calculate: (of) => cpuRatio(of.cpu?.values.percent),
    }),
  };
}

const MEMORY = { suffix: 'memory_used_bytes', meaning: 'Physical memory in use' } as const;

function applicationMemory(row: WindowRowMaker): WindowRow {
  return row({
    ...MEMORY,
    source:
      'Memory/Physical:total_used_mb × 1048576 ' +
      '(unverified: what the service does with it over several minutes; alert on newrelic_host_memory_used_bytes)',
    nerdgraph: 'average memory of a process × processes that report',
    reads: { memory: read(METRIC.memory, 'total_used_mb') },
    calculate: (of) => memoryBytes(of.memory?.values.total_used_mb),
  });
}

function hostMemory(row: WindowRowMaker): WindowRow {
  return row({
    ...MEMORY,
    source: 'Memory/Physical:used_mb_by_host × 1048576',
    nerdgraph: 'average memory of a process on the host',
    reads: { memory: read(METRIC.memory, 'used_mb_by_host') },
    calculate: (of) => memoryBytes(of.memory?.values.used_mb_by_host),
  });
}
