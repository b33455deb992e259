import { z } from 'zod';
import { DEMO_API_KEY } from '../../../src/simulator/simulatorSettings.ts';

const DOCUMENT = `query ($search: String) {
  actor { entitySearch(query: $search) { results { entities {
    tags { key values }
    ... on ApmApplicationEntityOutline { alertSeverity applicationId }
    ... on KeyTransactionEntityOutline { alertSeverity }
  } } } }
}`;
const answer = z.object({
  data: z.object({
    actor: z.object({
      entitySearch: z.object({
        results: z.object({
          entities: z.array(
            z.object({
              applicationId: z.number().optional(),
              alertSeverity: z.string().nullable(),
              tags: z.array(z.object({ key: z.string(), values: z.array(z.string()) })),
            }),
          ),
        }),
      }),
    }),
  }),
});

/** What NerdGraph says of the open alerts of applications and key transactions, by their ids in labels. */
export async function severitiesOf(upstream: { readonly url: string }): Promise<ReadonlyMap<string, string | null>> {
  const read = async (search: string): Promise<[string, string | null][]> => {
    const response = await fetch(`${upstream.url}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Api-Key': DEMO_API_KEY },
      body: JSON.stringify({ query: DOCUMENT, variables: { search } }),
    });
    const { entities } = answer.parse(await response.json()).data.actor.entitySearch.results;
    return entities.map(({ applicationId, alertSeverity, tags }) => {
      const id = applicationId ?? tags.find(({ key }) => key === 'keyTransactionId')?.values[0];
      return [String(id), alertSeverity];
    });
  };
  const lists = [read("domain = 'APM' AND type = 'APPLICATION'"), read("domain = 'EXT' AND type = 'KEY_TRANSACTION'")];
  return new Map((await Promise.all(lists)).flat());
}
