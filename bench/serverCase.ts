/**
 * A server that answers `/exposition` as the program does and `/bare` with the same bytes out of one buffer, in a process
 * of its own: `node --import tsx bench/serverCase.ts <series>`. Sends its port to its parent.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { packSamples } from '../src/metrics/writeSamples.ts';
import { writeExposition, type ExpositionForm, findFamilies } from '../src/exposition/exposition.ts';
import { watchClient } from '../src/web/clientGone.ts';
import { sendAnswer } from '../src/web/sending.ts';
import { negotiateForm } from '../src/web/routes/scrape.ts';
import { WritePlaces } from '../src/web/writePlaces.ts';
import { SeriesMask } from '../src/exposition/seriesMask.ts';
import { Fleet } from './renderFleet.ts';

const fleet = new Fleet('spread', Number(process.argv[2]));
const blocks = fleet.refresh().map((entity) => ({ ...entity, samples: packSamples(entity.group, entity.samples) }));
const mask = new SeriesMask(String, () => 0);
const render = async (form: ExpositionForm) => {
  const { families } = await findFamilies(blocks, Infinity, mask);
  return await writeExposition(families, [], form, mask);
};
const bare = Buffer.concat(await render({ format: 'text', gzip: false }));

const places = new WritePlaces(() => performance.now());
const server = createServer((request, response) => {
  if (request.url === '/bare') {
    response.setHeader('Content-Length', bare.length);
    response.end(bare);
    return;
  }
  const form = negotiateForm(request);
  void sendAnswer(response, form, () => render(form), { gone: watchClient(response), places });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit());
