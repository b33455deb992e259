/**
 * Measures the processor time of a query with undici and JSON alone, in a separate process:
 * `node --import tsx bench/queriesCase.ts <runs> <queries> <address> <nrql>`.
 * Prints milliseconds for each run.
 */
import { Agent } from 'undici';
import { inParallel } from './inParallel.ts';

const [runs = 0, queries = 0] = process.argv.slice(2).map(Number);
const [address = '', nrql = ''] = process.argv.slice(4);
const AT_ONCE = 5;
const agent = new Agent({ connections: AT_ONCE });
const body = JSON.stringify({ query: 'query', variables: { nrql } });

async function read(): Promise<void> {
  const response = await agent.request({ origin: address, path: '/graphql', method: 'POST', body });
  JSON.parse(await response.body.text());
}

const figures: number[] = [];
for (let run = 0; run <= runs; run += 1) {
  const before = process.cpuUsage();
  await inParallel(queries, AT_ONCE, read);
  const { user, system } = process.cpuUsage(before);
  // The first run does not count: it compiles the code and opens the connections.
  if (run > 0) figures.push((user + system) / 1000 / queries);
}
await agent.destroy();
process.stdout.write(JSON.stringify(figures));
