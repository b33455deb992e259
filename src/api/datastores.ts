const PREFIX = 'Datastore/';
const DATASTORE = /^Datastore\/[^/]+\/allWeb$/;

/** Whether a metric is of one datastore type, such as `Datastore/MySQL/allWeb`; `Datastore/allWeb`, the sum of all, is none. */
export function isDatastore(name: string): boolean {
  // Asked of every row: most names are told by their beginning.
  return name.startsWith(PREFIX) && DATASTORE.test(name);
}
