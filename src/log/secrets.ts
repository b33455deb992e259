const SHORTEST = 4;
const REPLACEMENT = '<secret>';

/**
 * The secrets of the process, to be hidden wherever text leaves it: a last line of defence behind code that does not
 * put them there. Texts of under four characters are not hidden, they would turn up everywhere.
 */
export class Secrets {
  readonly #spellings = new Set<string>();
  #pattern: RegExp | undefined;

  /** Hides a secret from now on, also as it is spelt in an address or in JSON. */
  add(value: string): void {
    if (value.length < SHORTEST || this.#spellings.has(value)) return;
    for (const spelling of spellings(value)) this.#spellings.add(spelling);
    // The longest first, so that no secret leaves the end of a longer one that it begins.
    const alternatives = [...this.#spellings].toSorted((a, b) => b.length - a.length).map(literally);
    this.#pattern = new RegExp(alternatives.join('|'), 'g');
  }

  mask(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, REPLACEMENT);
  }
}

function spellings(value: string): readonly string[] {
  // encodeURIComponent throws on half a surrogate pair, which this turns into a replacement character.
  const wellFormed = Buffer.from(value).toString();
  const formEncoded = new URLSearchParams([['', wellFormed]]).toString().slice(1);
  return [value, encodeURIComponent(wellFormed), formEncoded, JSON.stringify(value).slice(1, -1)];
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
