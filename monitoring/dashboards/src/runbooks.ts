import { readFileSync } from 'node:fs';
import type { DynamicConfigValue } from '@grafana/grafana-foundation-sdk/dashboard';
import { MappingType } from '@grafana/grafana-foundation-sdk/dashboard';
import { parse } from 'yaml';
import { z } from 'zod';
import { columnLink } from './panels.ts';

const rule = z.object({ alert: z.string().optional(), annotations: z.object({ runbook_url: z.string() }).optional() });
const ruleFile = z.object({ groups: z.array(z.object({ rules: z.array(rule) })) });

/** Reads page and section of each alert from the link in its rule. */
function readRunbooks(): { alert: string; page: string; section: string }[] {
  return ['alerts', 'packs', 'slo'].flatMap((file) => {
    const text = readFileSync(new URL(`../../rules/${file}.yaml`, import.meta.url), 'utf8');
    return ruleFile.parse(parse(text)).groups.flatMap(({ rules }) =>
      rules.flatMap(({ alert, annotations }) => {
        const [page = '', section = ''] = annotations?.runbook_url.split('#') ?? [];
        return alert === undefined ? [] : { alert, page, section };
      }),
    );
  });
}

/**
 * Shows an alert as its section of the runbooks, and links there. Anchors are in lower case, which Grafana cannot
 * produce: each name has a text.
 */
export function runbookColumn(): DynamicConfigValue[] {
  const runbooks = readRunbooks();
  const texts = runbooks.map(({ alert, section }, index) => [alert, { text: section, index }]);
  const mappings = [{ type: MappingType.ValueToText, options: Object.fromEntries(texts) as object }];
  const page = runbooks[0]?.page ?? '';
  return [{ id: 'mappings', value: mappings }, ...columnLink('Open the runbook', `${page}#\${__value.text}`)];
}
