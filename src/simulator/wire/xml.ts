import Builder from 'fast-xml-builder';
import type { Json, JsonObject } from './json.ts';

/** Lists whose entries are not named by dropping the plural's last letter. */
const ENTRY_NAMES: Readonly<Record<string, string>> = { metrics_found: 'metric', metrics_not_found: 'metric' };

type Node = string | readonly Node[] | { readonly [name: string]: Node };

const builder = new Builder({ format: true, suppressEmptyNode: false, processEntities: true });

/** XML has no arrays: a list `servers` becomes `<servers><server>..</server></servers>`. */
function nest(value: Json, name: string): Node {
  if (Array.isArray(value)) {
    const entry = ENTRY_NAMES[name] ?? name.replace(/s$/, '');
    return { [entry]: value.map((item: Json) => nest(item, entry)) };
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value as JsonObject).map(([key, item]) => [key, nest(item, key)]));
  }
  return value === null ? '' : String(value);
}

/** The body as XML: the root is the name of the envelope, its first member, with `_response`. */
export function toXml(body: JsonObject): string {
  const root = `${Object.keys(body)[0] ?? 'empty'}_response`;
  const document = builder.build({ [root]: nest(body, root) });
  return `<?xml version="1.0" encoding="UTF-8"?>\n${document}`;
}
