import type { Family } from '../metrics/sample.ts';
import type { Format } from './format.ts';

/** What the lines above the samples of a family need to know. */
interface FamilyHead {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly unit: Family['unit'];
}

const LONE_SURROGATES = /\p{Surrogate}/gu;

/** The last line of an OpenMetrics answer. */
export const END_OF_ANSWER = '# EOF\n';

/** The metadata lines of a family, in the order its format asks for. OpenMetrics names a counter without `_total`. */
export function metadata(family: FamilyHead, format: Format): string {
  const help = helpText(family.help, format);
  if (format === 'text') {
    return `# HELP ${family.name} ${help}\n# TYPE ${family.name} ${family.type}\n`;
  }
  const name = family.type === 'counter' ? family.name.replace(/_total$/, '') : family.name;
  const unit = family.unit !== undefined && name.endsWith(`_${family.unit}`) ? `# UNIT ${name} ${family.unit}\n` : '';
  return `# TYPE ${name} ${family.type}\n${unit}# HELP ${name} ${help}\n`;
}

/** HELP text; OpenMetrics escapes the quote as well. */
export function helpText(help: string, format: Format): string {
  const escaped = help.replace(LONE_SURROGATES, '\ufffd').replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return format === 'openmetrics' ? escaped.replaceAll('"', '\\"') : escaped;
}
