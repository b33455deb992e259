import type { Scope } from './family.ts';
import { apdexRows, endUserRows } from './windowApdex.ts';
import { componentRows } from './windowComponents.ts';
import { errorRows } from './windowErrors.ts';
import { machineRows } from './windowMachine.ts';
import { windowRowMaker } from './windowRow.ts';
import { windowTable } from './windowTable.ts';
import { webRows } from './windowWeb.ts';

function rowsOf(scope: Scope) {
  const row = windowRowMaker(scope);
  return {
    ...webRows(row),
    ...componentRows(row),
    ...errorRows(row, scope),
    ...apdexRows(row),
    ...endUserRows(row, scope),
    ...machineRows(row, scope),
  };
}

/** Every window family of applications and of hosts, a row each; see "Adding a window metric" in CONTRIBUTING.md. */
export const WINDOW = { application: rowsOf('application'), host: rowsOf('host') };

/** What follows from them: the names to ask for, the values to keep, the samples. */
export const WINDOW_TABLE = windowTable({
  application: Object.values(WINDOW.application),
  host: Object.values(WINDOW.host),
});

export const { queryNames, usedValues, windowSamples } = WINDOW_TABLE;
