/** Names of the invisible characters that people paste most often, by code point. */
const NAMES: Readonly<Record<number, string>> = {
  0x00: 'null',
  0x0d: 'carriage return, as Windows ends lines',
  0xa0: 'no-break space',
  0xad: 'soft hyphen',
  0x200b: 'zero width space',
  0x200c: 'zero width non-joiner',
  0x200d: 'zero width joiner',
  0x200e: 'left-to-right mark',
  0x200f: 'right-to-left mark',
  0x202f: 'narrow no-break space',
  0x2060: 'word joiner',
  0xfeff: 'byte order mark',
};

/** Control characters, format characters and spaces, except the plain space, the tab and the line feed. */
const INVISIBLE = /[^\P{C}\t\n]|[^\P{Z} ]/u;

/** Returns the first invisible character of a text, such as `U+00A0 (no-break space)`; undefined if there is none. */
export function findInvisible(text: string): string | undefined {
  const point = INVISIBLE.exec(text)?.[0].codePointAt(0);
  if (point === undefined) return undefined;
  const name = NAMES[point];
  const code = `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
  return name === undefined ? code : `${code} (${name})`;
}

/** Pairs of quotes, straight and typographic. */
const QUOTED = /^(["'`]).*\1$|^[\u201c\u201e\u00ab\u2018].*[\u201d\u201c\u00bb\u2019]$/su;

/** True if quotes surround the text: neither YAML nor a shell has removed them. */
export function isQuoted(text: string): boolean {
  return text.length > 1 && QUOTED.test(text);
}
