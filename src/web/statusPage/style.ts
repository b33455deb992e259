import { createHash } from 'node:crypto';
import { Html } from './markup.ts';

/** The number of colours for components, each a variable of the style; further components repeat a colour. */
export const PALETTE_SIZE = 16;

const COLOURS = Array.from({ length: PALETTE_SIZE }, (_, index) => `.c${index} { fill: var(--c${index}); }`);

const STYLE = `
:root {
  color-scheme: light dark;
  --text: #1c2024; --soft: #5a6370; --line: #d8dde3; --back: #f5f6f8; --card: #fff; --link: #0b57b0;
  --good: #1a7034; --warn: #8a5300; --bad: #b3261e; --warn-back: #fff4e0; --bad-back: #fdecea;
  --queue: #8d96a3; --total: #3f6fb5; --c0: #e08a00; --c1: #2a9d8f; --c2: #b5489b; --c3: #7b9e2b; --c4: #c4ab00;
  --c5: #6a5acd; --c6: #a0703c; --c7: #1794c4;
  --c8: #d1495b; --c9: #2f7d4f; --c10: #f2b5a0; --c11: #4b5d16; --c12: #e377c2; --c13: #14505c; --c14: #b8a1e3; --c15: #7f1d1d; --mark: #000;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6e9ed; --soft: #a3adba; --line: #39414b; --back: #14181d; --card: #1d2329; --link: #7db4ff;
    --good: #6fce8a; --warn: #f2b75c; --bad: #ff8b82; --warn-back: #3a2c12; --bad-back: #431c1a;
    --queue: #8791a0; --total: #6c9be0; --c0: #f0a53a; --c1: #4dbfb0; --c2: #d97cc2; --c3: #a4c455; --c4: #e0cb45;
    --c5: #a196f0; --c6: #c99a68; --c7: #5bbfe6;
    --c8: #ef7d8b; --c9: #5fb583; --c10: #ffd2c4; --c11: #8fa343; --c12: #f7a8dd; --c13: #3f8a99; --c14: #d6c6f7; --c15: #b94a4a; --mark: #fff;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
header, main { max-width: 72rem; margin: 0 auto; padding: 1rem; }
header { display: flex; flex-wrap: wrap; gap: .5rem 2rem; align-items: baseline; justify-content: space-between; }
main { padding-top: 0; }
h1 { font-size: 1.4rem; margin: 0; }
h1 small { font-weight: normal; color: var(--soft); font-size: 1rem; }
h2 { font-size: 1.2rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
nav a { display: inline-block; padding: .25rem 0; margin-right: 1rem; }
a { color: var(--link); }
a:focus-visible, button:focus-visible, input:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 0 0 1rem; }
.overview { font-size: 1.1rem; margin: 0 0 .25rem; }
.soft, .asof, .kind, .of, .key, .more, .absent, .off, small, caption, dt, thead th { color: var(--soft); }
.soft { margin: 0 0 .75rem; }
.asof { margin: 0 0 1rem; }
.kind { font-weight: normal; }
.good { color: var(--good); }
.warn { color: var(--warn); }
.bad { color: var(--bad); }
.badge { font-size: .85rem; font-weight: 600; border: 1px solid currentColor; border-radius: 1rem; padding: .1rem .6rem; white-space: nowrap; }
.labels { display: flex; flex-wrap: wrap; gap: .25rem 1rem; list-style: none; margin: 0 0 .5rem; padding: 0; color: var(--soft); overflow-wrap: anywhere; }
.notice { color: var(--text); border-left: .3rem solid var(--warn); background: var(--warn-back); padding: .5rem .75rem; margin: 0 0 .75rem; overflow-wrap: anywhere; }
.notice.bad { border-color: var(--bad); background: var(--bad-back); }
ul.notice { padding-left: 2rem; }
.notice ul { margin: .25rem 0 0; padding-left: 1.5rem; }
.notice dl { margin: .25rem 0 0; }
.notice dl div { display: grid; grid-template-columns: 6rem 1fr; gap: 0 1rem; }
.notice dd { margin: 0; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: .5rem 1.5rem; margin: 0 0 1rem; }
.facts dd { margin: 0; }
.meter { display: block; width: 100%; max-width: 20rem; height: .4rem; margin-top: .3rem; border-radius: .2rem; }
.track { fill: var(--line); }
.used { fill: var(--total); }
table { width: 100%; border-collapse: collapse; margin: 0 0 1rem; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line); font-weight: normal; }
tbody th, td.long { overflow-wrap: anywhere; }
td.long { min-width: 13rem; }
details ul { margin: .25rem 0 0; padding-left: 1.25rem; }
thead th { border-top: 0; font-size: .85rem; }
.number { font-variant-numeric: tabular-nums; }
.group { white-space: nowrap; }
.search { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin: 0 0 .75rem; }
.search label { flex-basis: 100%; }
.search input { flex: 0 1 22rem; min-width: 10rem; }
input, button { font: inherit; color: inherit; background: var(--back); border: 1px solid var(--soft); border-radius: .3rem; padding: .4rem .75rem; }
button { cursor: pointer; }
.applications { list-style: none; margin: 0; padding: 0; }
.applications > li { border-top: 1px solid var(--line); padding: .75rem 0; }
.title { display: flex; flex-wrap: wrap; gap: 0 .75rem; align-items: baseline; }
.of { overflow-wrap: anywhere; }
.response { margin-left: auto; font-weight: 600; font-variant-numeric: tabular-nums; }
.absent { margin: .25rem 0 0; overflow-wrap: anywhere; }
.bar { display: block; width: 100%; height: 1.5rem; margin: .35rem 0; border-radius: .25rem; }
/* A gap between neighbours, for people who cannot tell the colours apart. */
.bar rect { stroke: var(--card); stroke-width: 1.5px; vector-effect: non-scaling-stroke; }
.mark { stroke: var(--mark); stroke-width: 3px; vector-effect: non-scaling-stroke; }
.parts { display: flex; flex-wrap: wrap; gap: .1rem 1.25rem; list-style: none; margin: 0; padding: 0; overflow-wrap: anywhere; }
.parts b { font-variant-numeric: tabular-nums; }
.swatch { width: .8rem; height: .8rem; vertical-align: baseline; }
.key { margin: 0 0 .5rem; font-size: .9rem; }
.pages { display: flex; gap: 1.5rem; justify-content: center; padding-top: 1rem; border-top: 1px solid var(--line); }
.queue { fill: var(--queue); } .total { fill: var(--total); }
${COLOURS.join(' ')}
@media (max-width: 44rem) {
  .notice dl div { display: block; }
  .stack, .stack caption, .stack tbody, .stack tr, .stack th, .stack td { display: block; }
  .stack thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .stack tr { border-top: 1px solid var(--line); padding: .4rem 0; }
  .stack th, .stack td { border: 0; padding: .1rem 0; }
  .stack th { font-weight: 600; }
  .stack td { display: flex; gap: 1rem; justify-content: space-between; text-align: right; }
  .stack td::before { content: attr(data-label); color: var(--soft); text-align: left; flex-shrink: 0; }
  .stack td.number { display: inline-flex; gap: .4rem; margin-right: 1.25rem; }
  .stack td.long { display: block; text-align: left; }
  .stack td.long::before { display: block; }
  .group { white-space: normal; }
}
`;

export const STYLE_ELEMENT = new Html(`<style>${STYLE}</style>`);

/** Allows the page its own style, its empty icon and the search form, and nothing else. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'img-src data:',
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');
