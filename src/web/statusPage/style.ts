import { createHash } from 'node:crypto';
import { markup, Html } from './markup.ts';
import type { Part } from './shownAccounts.ts';

/** Frequent components, and a clearly different hue for each. */
const KNOWN = [
  ...['Database', 'Datastore/MySQL', 'External', 'Datastore/Postgres', 'Datastore/Redis', 'Datastore/MongoDB'],
  ...['Memcache', 'ActiveRecord', 'Datastore/Memcached', 'Datastore/Elasticsearch', 'Datastore/JDBC'],
];
const HUES = [36, 173, 313, 78, 51, 250, 18, 197, 353, 142, 285];

/** Returns the attribute with the colour of a part. A component has the same colour everywhere. */
export function paintOf({ kind, name }: Pick<Part, 'kind' | 'name'>): Html {
  if (kind !== 'component') return markup`class="${kind}"`;
  let hash = 0;
  for (const character of name) hash = (31 * hash + (character.codePointAt(0) ?? 0)) % 65_521;
  return markup`fill="hsl(${HUES[KNOWN.indexOf(name)] ?? hash % 360} 50% 47%)"`;
}

const STYLE = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1c2024, #e6e9ed); --soft: light-dark(#5a6370, #a3adba); --line: light-dark(#d8dde3, #39414b);
  --back: light-dark(#f5f6f8, #14181d); --card: light-dark(#fff, #1d2329); --link: light-dark(#0b57b0, #7db4ff);
  --good: light-dark(#1a7034, #6fce8a); --warn: light-dark(#8a5300, #f2b75c); --bad: light-dark(#b3261e, #ff8b82);
  --good-back: light-dark(#e3f4e8, #17331f); --warn-back: light-dark(#fff4e0, #3a2c12); --bad-back: light-dark(#fdecea, #431c1a);
  --queue: light-dark(#8d96a3, #8791a0); --total: light-dark(#3f6fb5, #6c9be0);
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
header, main { max-width: 88rem; margin: 0 auto; padding: 0 1rem 1rem; } a { color: var(--link); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; } summary, button { cursor: pointer; } dd, .notice p { margin: 0; }
.soft, .about, small, caption, dt, thead th { color: var(--soft); }
.good { color: var(--good); } .warn { color: var(--warn); } .bad { color: var(--bad); }
.verdict { display: flex; gap: .75rem; margin: 1rem 0 .5rem; padding: .75rem 1rem; font-size: 1.5rem; line-height: 1.3;
  border: 2px solid currentColor; border-left-width: .75rem; border-radius: .5rem; background: var(--card); }
.verdict.bad { background: var(--bad-back); } .verdict.warn { background: var(--warn-back); } .verdict a { font-size: 1rem; white-space: nowrap; }
.about { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 1.5rem; } .about nav { margin-left: auto; }
nav a { padding: .25rem 0; margin-right: .75rem; }
h2 { font-size: 1.2rem; margin: 0 0 .25rem; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 0 0 1rem; }
.parts { display: flex; flex-wrap: wrap; gap: 0 1rem; list-style: none; margin: .25rem 0; padding: 0; font-size: .875rem; }
summary { padding: .25rem 0; } details details { margin: .25rem 0; } section > details > summary bdi { font-size: 1.1rem; font-weight: 600; }
section > details > summary small, tbody th small, td.number small { display: block; } th, small { font-weight: normal; }
.health { padding: 0 .5rem; border-radius: .3rem; white-space: nowrap; }
.green { background: var(--good-back); color: var(--good); } .grey { background: var(--back); color: var(--soft); }
.orange { background: #ffb020; color: #1c2024; font-weight: 600; } .red { background: #c62828; color: #fff; font-weight: 600; }
.notice { color: var(--text); border-left: .3rem solid var(--warn); background: var(--warn-back); padding: .5rem .75rem; margin: 0 0 .75rem; }
.notice.bad { border-color: var(--bad); background: var(--bad-back); } ul.notice { list-style: none; } .notice ul, .notice dl { margin: .25rem 0 0; }
.notice dl div { display: grid; grid-template-columns: 6rem 1fr; gap: 0 1rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: .5rem 1.5rem; margin: 0 0 1rem; }
table { width: 100%; border-collapse: collapse; margin: 0 0 .5rem; } caption { text-align: left; padding: .25rem 0; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line); overflow-wrap: normal; }
tbody th, td.long { overflow-wrap: anywhere; } tbody th { min-width: 11.5rem; } td:not(.number) { min-width: 7rem; } td.long { min-width: 13rem; } td.time { width: 45%; }
td ul:not(.parts) { margin: 0; padding-left: 1.25rem; } thead th { border-top: 0; font-size: .85rem; }
td.number { font-variant-numeric: tabular-nums; white-space: nowrap; } .name { font-weight: 600; } .group { white-space: nowrap; }
.search { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 0 0 1rem; } .search input { flex: 1 1 10rem; max-width: 22rem; }
input, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--soft); border-radius: .3rem; padding: .4rem .75rem; }
.bar { display: block; width: 100%; height: 1rem; margin: .15rem 0; } .track { fill: var(--line); opacity: .35; }
/* A gap between neighbours, for people who cannot tell the colours apart. */
.bar rect:not(.track, .pale) { stroke: var(--card); stroke-width: 1px; vector-effect: non-scaling-stroke; } .pale { fill: var(--card); opacity: .65; }
.swatch { width: .7rem; height: .7rem; vertical-align: baseline; } .pages { display: flex; gap: 1.5rem; justify-content: center; padding-top: .5rem; }
.queue { fill: var(--queue); } .total { fill: var(--total); }
@media (max-width: 44rem) {
  .notice dl div, .stack, .stack caption, .stack tbody, .stack tr, .stack th, .stack td { display: block; }
  .stack thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .stack tr { border-top: 1px solid var(--line); padding: .4rem 0; } .stack th, .stack td { border: 0; padding: .1rem 0; }
  .stack th { font-weight: 600; } .stack td { display: flex; gap: 1rem; justify-content: space-between; text-align: right; }
  .stack td::before { content: attr(data-label); color: var(--soft); text-align: left; flex-shrink: 0; }
  .stack td.number { display: inline-flex; gap: .4rem; margin-right: 1.25rem; align-items: baseline; }
  .stack td.long, .stack td.time { display: block; width: auto; text-align: left; } .stack td.long::before { display: block; }
  .stack td.time::before { content: none; } .verdict { font-size: 1.2rem; } .group { white-space: normal; }
}
`;

export const STYLE_ELEMENT = new Html(`<style>${STYLE}</style>`);

const HASH = createHash('sha256').update(STYLE).digest('base64');

/** Allows the page its own style, its icon and the search form, and nothing else. */
export const CONTENT_SECURITY_POLICY = `default-src 'none'; style-src 'sha256-${HASH}'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
