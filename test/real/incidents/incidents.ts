import type { Altered, Change, Interface, Series } from './fleet.ts';

export interface Incident {
  /** As in the table of docs/alerts.md. */
  readonly name: string;
  /** Minutes of quiet before it, minutes that it lasts, and minutes of quiet after it. */
  readonly before: number;
  readonly lasts: number;
  readonly after: number;
  /** Minutes from one evaluation of the rules to the next; promtool takes its time for each. */
  readonly step: number;
  readonly interfaces: readonly Interface[];
  readonly change: Change;
}

const BOTH: readonly Interface[] = ['rest', 'nerdgraph'];

export const INCIDENTS: readonly Incident[] = [
  incident('An application dies', {
    change: ({ name, labels }, by) => {
      if (labels['app'] !== 'checkout') return undefined;
      // New Relic takes ten minutes to say so, and the list a minute more; until then the REST interface may keep zeros.
      if (name === 'newrelic_application_reporting') return (minute) => (minute < 11 ? 1 : 0);
      if (name.endsWith('settings_apdex_threshold_seconds') || name.endsWith('_enabled')) return undefined;
      if (name.endsWith('last_reported_timestamp_seconds')) return until(11, (minute, now) => (now - minute) * 60);
      if (name.endsWith('_requests_per_second') && by === 'rest') return until(11, (minute) => (minute < 4 ? 6 : 0));
      return until(4, () => (name.includes('errors') ? 0.1 : name.includes('score') ? 0.94 : 0.02));
    },
  }),
  incident('An application lives and gets no requests any more', {
    change: ({ name, labels }) => {
      if (labels['app'] !== 'checkout') return undefined;
      if (/_requests_per_second$|_errors_per_second$|_apdex_requests$/.test(name)) return () => 0;
      if (/_(error_ratio|apdex_score|response_time_seconds)$/.test(name)) return () => undefined;
      return undefined;
    },
  }),
  incident('An application fails 60 % of its requests', { change: failing(0.6) }),
  incident('An application fails 10 % of its requests', { change: failing(0.1) }),
  incident('An application is so slow that hardly a user is satisfied', {
    change: checkout({ response_time_seconds: 4, apdex_score: 0.2, rolling_apdex_score: 0.2 }),
  }),
  incident('A few requests of an application take very long', { change: checkout({ response_time_seconds: 2.5 }) }),
  incident('One key transaction is slow', {
    change: ({ name }) => (name === 'newrelic_key_transaction_rolling_apdex_score' ? () => 0.4 : undefined),
  }),
  incident('Processes on a host leak memory', {
    before: 480,
    step: 10,
    change: ({ name, labels }) =>
      name === 'newrelic_host_memory_used_bytes' && labels['host'] === 'web-1'
        ? (minute) => 1_073_741_824 + minute * 16_777_216
        : undefined,
  }),
  incident('A host uses far more processor time than the day before', {
    before: 1500,
    step: 10,
    change: ({ name, labels }) =>
      name === 'newrelic_host_cpu_usage_ratio' && labels['host'] === 'web-1' ? () => 4.5 : undefined,
  }),
  incident('The exporter is down', {
    change: ({ name }) => (name === 'up' ? () => 0 : () => undefined),
  }),
  incident('The scrape job is gone', { change: () => () => undefined }),
  incident('The key is revoked, or New Relic cannot be reached', {
    change: ({ name, labels, course }) => {
      if (name === 'newrelic_up') return () => 0;
      if (name === 'newrelic_exporter_applications') return () => undefined;
      if (name === 'newrelic_exporter_collection_success') return () => 0;
      if (name === 'newrelic_exporter_collection_entities') return allMissingAfter(5, labels);
      if (name.startsWith('newrelic_exporter_oldest')) return until(5, standing);
      if (name.startsWith('newrelic_exporter_') || name === 'up') return undefined;
      return until(5, (_, now) => course(now));
    },
  }),
  incident('The list of accounts of an entry cannot be read', {
    change: ({ name }) => (name === 'newrelic_exporter_account_list_success' ? () => 0 : undefined),
  }),
  incident('The key sees no application any more', {
    change: ({ name, labels, course }) => {
      if (name === 'newrelic_exporter_applications') return () => 0;
      if (name === 'newrelic_exporter_collection_entities')
        return labels['group'] === 'applications' ? undefined : () => 0;
      if (/^newrelic_(application|host|key_transaction)_/.test(name)) return () => undefined;
      return name.startsWith('newrelic_exporter_oldest') ? () => undefined : (_, now) => course(now);
    },
  }),
  incident('An application disappears from the list', {
    change: ({ name, labels }) => {
      if (name === 'newrelic_exporter_applications') return () => (labels['state'] === 'reporting' ? 3 : 4);
      return labels['app'] === 'report' ? () => undefined : undefined;
    },
  }),
  incident('Metric data cannot be read, though the lists can', {
    change: ({ name, labels, course }) => {
      const data = labels['group'] === 'application_metrics' || labels['group'] === 'host_metrics';
      if (name === 'newrelic_exporter_collection_success' && data) return () => 0;
      if (name === 'newrelic_exporter_collection_entities' && data) return allMissingAfter(5, labels);
      if (name.startsWith('newrelic_exporter_oldest')) return until(5, standing);
      if (/_(error_ratio|errors_per_second|apdex_score|apdex_requests|response_time_seconds)$/.test(name)) {
        return until(5, (_, now) => course(now));
      }
      return undefined;
    },
  }),
  incident('Every refresh of a group fails in part, and what failed arrives in between', {
    change: ({ name, labels }) =>
      name === 'newrelic_exporter_collection_success' && labels['group'] === 'hosts' ? () => 0 : undefined,
  }),
  incident('Old values are served for hours', {
    change: ({ name }) => (name.startsWith('newrelic_exporter_oldest') ? standing : undefined),
  }),
  incident('The key may not read one application', {
    change: ({ name, labels }) => {
      if (labels['group'] !== 'application_metrics') return undefined;
      if (name === 'newrelic_exporter_collection_success') return () => 0;
      if (name !== 'newrelic_exporter_collection_entities') return undefined;
      return () => ({ fresh: 4, stale: 0, missing: 1 })[labels['state'] ?? ''];
    },
  }),
  incident('Another program spends the call limit of the account', {
    change: ({ name, labels }) => {
      // Refused, paused, and one list that comes through every third minute.
      if (name === 'newrelic_up') return (minute) => (minute % 3 === 0 ? 1 : 0);
      if (name === 'newrelic_exporter_collection_success') return () => 0;
      if (name === 'newrelic_exporter_api_paused_until_timestamp_seconds') return (_, now) => now * 60 + 45;
      if (name !== 'newrelic_exporter_collection_entities') return undefined;
      return () => ({ fresh: 0, stale: 5, missing: 0 })[labels['state'] ?? ''];
    },
  }),
  incident('Calls have become so slow that the limits carry only a refresh every ten minutes', {
    change: ({ name, labels }) => {
      if (name === 'newrelic_exporter_effective_interval_seconds') {
        return () => (labels['group'] === 'hosts' ? 3000 : 600);
      }
      return name.startsWith('newrelic_exporter_oldest') ? (_, now) => now * 60 - 900 : undefined;
    },
  }),
  incident('The account has grown until its budget of calls is spent', {
    change: ({ name }) => {
      if (name === 'newrelic_exporter_api_requests_total') return (minute) => 569 * minute;
      if (name === 'newrelic_exporter_api_request_duration_seconds_sum') return (minute) => 3.2 * 569 * minute;
      if (name === 'newrelic_exporter_api_request_duration_seconds_count') return (minute) => 569 * minute;
      return undefined;
    },
  }),
  incident('The configuration on disk is invalid', {
    change: ({ name }) => (name === 'newrelic_exporter_config_last_reload_successful' ? () => 0 : undefined),
  }),
  incident('A limit of series is too low', {
    change: ({ name }) => (name === 'newrelic_exporter_series_dropped_total' ? (minute) => 40 * minute : undefined),
  }),
  incident('Data arrive after their minute was read', {
    change: ({ name }) => (name === 'newrelic_exporter_late_transactions_total' ? (minute) => 120 * minute : undefined),
  }),
  incident('The REST interface ends within 180 days', {
    interfaces: ['rest'],
    change: ({ name }) =>
      name === 'newrelic_exporter_api_end_of_life_timestamp_seconds' ? () => 170 * 86_400 : undefined,
  }),
];

function incident(name: string, details: Partial<Incident> & Pick<Incident, 'change'>): Incident {
  return { name, before: 75, lasts: 100, after: 40, step: 4, interfaces: BOTH, ...details };
}

/** The application checkout with other values for families of it, its hosts and its key transaction. */
function checkout(values: Readonly<Record<string, number>>): Change {
  return ({ name, labels }) => {
    if (labels['app'] !== 'checkout') return undefined;
    const value = values[name.replace(/^newrelic_(application|key_transaction)_/, '')];
    return value === undefined ? undefined : () => value;
  };
}

function failing(ratio: number): Change {
  const apdex = 0.94 - ratio;
  return checkout({
    error_ratio: ratio,
    errors_per_second: 10 * ratio,
    apdex_score: apdex,
    rolling_apdex_score: apdex,
  });
}

function allMissingAfter(minutes: number, labels: Series['labels']): Altered {
  const first: Readonly<Record<string, number>> = { fresh: 0, stale: 5, missing: 0 };
  const then: Readonly<Record<string, number>> = { fresh: 0, stale: 0, missing: 5 };
  return (minute) => (minute < minutes ? first : then)[labels['state'] ?? ''];
}

/** The given values for a number of minutes, and none afterwards. */
function until(minutes: number, values: Altered): Altered {
  return (minute, now) => (minute < minutes ? values(minute, now) : undefined);
}

/** The end of the window in which the incident began. */
function standing(minute: number, now: number): number {
  return (now - minute) * 60 - 180;
}
