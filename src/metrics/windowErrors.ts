import { errorRatio, errorsPerSecond } from '../formulas/errors.ts';
import { METRIC } from '../formulas/names.ts';
import type { Scope } from './family.ts';
import { read } from './windowRow.ts';
import type { WindowRowMaker } from './windowRow.ts';

const ERRORS_ABSENT: Readonly<Record<Scope, string>> = {
  application: 'an absent Errors/all counts 0 while there are requests',
  host: 'absent without Errors/all (with NerdGraph 0 while the host reports)',
};

const reads = {
  errors: read(METRIC.errors, 'error_count'),
  web: read(METRIC.web, 'call_count'),
  nonWeb: read(METRIC.nonWeb, 'call_count'),
};

/** Errors of web requests and background transactions. */
export function errorRows(row: WindowRowMaker, scope: Scope) {
  return {
    errorRatio: row({
      suffix: 'error_ratio',
      meaning: 'Errors per web request and background transaction',
      source:
        'Errors/all:error_count / (HttpDispatcher:call_count + OtherTransaction/all:call_count); ' +
        `${ERRORS_ABSENT[scope]}; absent without requests`,
      reads,
      calculate: (of) => errorRatio({ scope, ...of }),
    }),
    errors: row({
      suffix: 'errors_per_second',
      meaning: 'Errors per second',
      source: `Errors/all:error_count / length of the window; ${ERRORS_ABSENT[scope]}`,
      reads,
      calculate: (of) => errorsPerSecond({ scope, ...of }),
    }),
  };
}
