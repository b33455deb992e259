/** Counts what an answer held that could not be used (docs/interface.md). */
export class LeftOut {
  #values = 0;
  #records = 0;
  #first = '';

  /** @param where the place within a record, made of our own field names only: others' may hold anything */
  value(where: string): void {
    this.#values += 1;
    this.#first ||= where;
  }

  record(where: string): void {
    this.#records += 1;
    this.#first ||= where;
  }

  /** Undefined when nothing was left out. */
  words(): string | undefined {
    const parts = [counted(this.#records, 'record'), counted(this.#values, 'value')].filter((part) => part !== '');
    return parts.length === 0 ? undefined : `left out ${parts.join(' and ')}, the first: ${this.#first}`;
  }
}

function counted(count: number, what: string): string {
  return count === 0 ? '' : `${count} bad ${what}${count === 1 ? '' : 's'}`;
}
