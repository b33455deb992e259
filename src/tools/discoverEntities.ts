import { stringify } from 'yaml';
import type { Config } from '../config/config.ts';
import { entitySelection } from '../config/schema/entities.ts';
import { counted, suggest } from '../text/wording.ts';
import type { Tag } from '../api/types.ts';
import type { EntityTypeCount, MonitoredEntity } from '../api/upstreamReader.ts';
import { errorText } from '../log/logger.ts';
import { escapeUnsafe } from '../text/escaping.ts';
import { ExitStatus, UsageError } from '../cli/process.ts';
import { renderJson, renderTable } from './terminal.ts';
import { reasonOf, withAccounts, type ReadingOptions } from './upstream/session.ts';

interface Found {
  readonly account: string;
  readonly types?: readonly EntityTypeCount[];
  readonly entities?: readonly MonitoredEntity[];
}

interface EntitiesOptions extends ReadingOptions {
  readonly entities: true | string;
  readonly format: 'table' | 'yaml' | 'json';
}

/** Runs `discover --entities`: lists types, or the entities of one type. Status 1 if a read fails or finds nothing. */
export async function discoverEntities({ entities: asked, format, ...options }: EntitiesOptions): Promise<void> {
  const type = asked === true ? undefined : asked;
  await withAccounts(
    options,
    async ({ accounts, reportError, print, signal }) => {
      const found: Found[] = [];
      let failures = 0;
      for (const { config, reader, call } of accounts) {
        const { name: account } = config;
        try {
          if (reader.entities === undefined) throw new Error('this account has no entities');
          if (type === undefined) {
            found.push({ account, types: await reader.entities.types(call) });
            continue;
          }
          const entities = await reader.entities.list(type, call);
          if (entities.length > 0) found.push({ account, entities });
          else reportError(`account ${account}: ${describeMissing(type, await reader.entities.types(call))}`);
        } catch (error) {
          signal.throwIfAborted();
          failures += 1;
          reportError(`account ${account}: entities cannot be read: ${errorText(error, false)}`, reasonOf(error));
        }
      }
      if (found.length > 0) print(renderFound(found, type, format));
      if (failures > 0 || found.length === 0) throw new ExitStatus(1);
    },
    (config) => addEntities(config, type),
  );
}

function describeMissing(type: string, types: readonly EntityTypeCount[]): string {
  if (types.length === 0) return `no entity of ${type}, nor of any other type: check account_id`;
  const known = types.map((each) => each.type);
  return `no entity of ${type}${suggest(type, known) || ': discover --entities lists the types of the account'}`;
}

/** Adds one type of entities to each account: a reader may lack entities otherwise. Throws a UsageError. */
function addEntities(config: Config, type = 'EXT-SERVICE'): Config {
  const selection = entitySelection.safeParse({ type }).data;
  if (selection === undefined)
    throw new UsageError('--entities takes a type such as EXT-SERVICE: DOMAIN-TYPE in capitals');
  const accounts = config.accounts.map((account) => {
    if (account.api === 'rest' && account.account_id === undefined) {
      throw new UsageError(`account ${account.name} needs account_id: entities are read through NerdGraph`);
    }
    return { ...account, entities: [selection] };
  });
  return { ...config, accounts };
}

function renderFound(found: readonly Found[], type: string | undefined, format: EntitiesOptions['format']): string {
  if (format === 'json') return renderJson({ accounts: found.map(toJson) });
  if (format === 'yaml') return found.map((each) => renderYaml(each, type)).join('---\n');
  return found
    .map(({ account, types, entities = [] }) => {
      const rows = types?.map(({ type: each, count }) => [each, count]);
      const text = rows === undefined ? renderEntityTable(entities) : renderTable([['TYPE', 'ENTITIES'], ...rows]);
      return `Account ${escapeUnsafe(account)}\n${text}\n`;
    })
    .join('\n');
}

function toJson({ account, types, entities }: Found) {
  if (types !== undefined) return { account, types };
  const listed = entities?.map(({ guid, name, reporting, tags, metrics }) => {
    const golden_metrics = metrics.map(({ name: metric, title, unit, definition: { select, from, where = null } }) => {
      return { name: metric, title, unit, select, from, where };
    });
    return { guid, name, reporting, tags, golden_metrics };
  });
  return { account, entities: listed };
}

/** Renders `entities` for the configuration of an account. The numbers of entities are comments. */
function renderYaml({ account, types, entities = [] }: Found, type = ''): string {
  const rows = (types ?? [{ type, count: entities.length }]).map((each) => {
    return `  - type: ${stringify(each.type).trimEnd()} # ${counted(each.count, 'entity', 'entities')}`;
  });
  const metrics = [...new Set(entities.flatMap((entity) => entity.metrics.map(({ name }) => name)))].sort();
  if (metrics.length > 0) rows.push('    metrics:');
  for (const name of metrics) rows.push(`      - ${stringify(name).trimEnd()}`);
  return [`# account ${escapeUnsafe(account)}`, 'entities:', ...rows, ''].join('\n');
}

/** Formats a tag as New Relic does: `team=shop,web`. */
export function formatTag({ key, values }: Tag): string {
  return `${key}=${values.join(',')}`;
}

const REPEATING_TAGS = ['account', 'accountId', 'trustedAccountId', 'language'];

/** Formats the tags of an entity, without tags of New Relic that repeat the table. */
export function formatUserTags(tags: readonly Tag[]): string {
  return tags
    .filter(({ key }) => !REPEATING_TAGS.includes(key))
    .map(formatTag)
    .join(' ');
}

function renderEntityTable(entities: readonly MonitoredEntity[]): string {
  const all = entities.flatMap((entity) => entity.metrics);
  const metrics = new Map(all.map((metric) => [JSON.stringify(metric), metric]));
  const rows = entities.map(({ name, reporting, tags }) => [name, reporting ? 'yes' : 'no', formatUserTags(tags)]);
  const defined = Array.from(metrics.values(), (each) => [each.name, each.title, each.unit, each.definition.select]);
  return `${renderTable([['ENTITY', 'REPORTS', 'TAGS'], ...rows])}\n${renderTable([['GOLDEN METRIC', 'TITLE', 'UNIT', 'SELECT'], ...defined])}`;
}
