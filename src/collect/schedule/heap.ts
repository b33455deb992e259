/** A priority queue: gives the smallest item first, and equal ones in the order in which they came. */
export class Heap<T> {
  readonly #items: { readonly key: number; readonly order: number; readonly item: T }[] = [];
  #added = 0;

  get size(): number {
    return this.#items.length;
  }

  /** The first item; undefined when empty. */
  peek(): T | undefined {
    return this.#items[0]?.item;
  }

  push(key: number, item: T): void {
    this.#items.push({ key, order: this.#added, item });
    this.#added += 1;
    let child = this.#items.length - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!this.#before(child, parent)) return;
      this.#swap(child, parent);
      child = parent;
    }
  }

  pop(): T | undefined {
    const first = this.#items[0];
    const last = this.#items.pop();
    if (first === undefined || last === undefined || this.#items.length === 0) return first?.item;
    this.#items[0] = last;
    let parent = 0;
    for (;;) {
      const left = 2 * parent + 1;
      const right = left + 1;
      let smallest = parent;
      if (this.#before(left, smallest)) smallest = left;
      if (this.#before(right, smallest)) smallest = right;
      if (smallest === parent) return first.item;
      this.#swap(parent, smallest);
      parent = smallest;
    }
  }

  #before(a: number, b: number): boolean {
    const one = this.#items[a];
    const other = this.#items[b];
    if (one === undefined || other === undefined) return false;
    return one.key === other.key ? one.order < other.order : one.key < other.key;
  }

  #swap(a: number, b: number): void {
    const one = this.#items[a];
    const other = this.#items[b];
    if (one === undefined || other === undefined) return;
    this.#items[a] = other;
    this.#items[b] = one;
  }
}
