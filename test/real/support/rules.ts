import { readFileSync } from 'node:fs';

/** The shipped recording rules, evaluated every second. */
export function quickRecordingRules(): string {
  return rules('recording.yaml').replaceAll('interval: 1m', 'interval: 1s');
}

function rules(file: string): string {
  return readFileSync(new URL(`../../../monitoring/rules/${file}`, import.meta.url), 'utf8');
}

/** The shipped alerts with nothing changed but how long they wait and how far they look back. */
export function quickRules(): string {
  return rules('alerts.yaml')
    .replace(/^(\s+for:) \w+$/gm, '$1 1s')
    .replaceAll('[5m]', '[5s]');
}
