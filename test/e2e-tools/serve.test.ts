import { describe, expect, it } from 'vitest';
import { account } from '../e2e/support/config.ts';
import { runProgram, type Program } from '../e2e/support/program.ts';
import { simulatorForFile } from '../support/simulator.ts';

const simulator = await simulatorForFile({ applications: 1, hostsPerApplication: 1 });

const ADDRESS = '--web.listen-address=127.0.0.1:0';
const whenItListens = { interruptOnce: ({ written }: Program) => written.stderr.includes('msg=Listening') };

/** Has the program say on standard error which flags of V8 it sets. */
const TELLING_FLAGS = [
  "import v8 from 'node:v8'",
  "import { syncBuiltinESMExports } from 'node:module'",
  'const set = v8.setFlagsFromString',
  'v8.setFlagsFromString = (flag) => { console.error(`V8 ${flag}`); set(flag) }',
  'syncBuiltinESMExports()',
].join(';');
const telling = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(TELLING_FLAGS)}` };

describe('serve', () => {
  it('warns at the start of an interface that ends, and of what the configuration should not say', async () => {
    const { status, stderr } = await runProgram(['serve', ADDRESS], {
      ...whenItListens,
      config: {
        accounts: [
          account(simulator, 'old'),
          account(simulator, 'new', {
            api: 'nerdgraph',
            base_url: `${simulator.url}/graphql`,
            api_key_header: 'X-Api-Key',
          }),
        ],
      },
    });
    const warnings = stderr.split('\n').filter((line) => line.includes(' level=warn '));
    expect(warnings).toEqual([
      expect.stringMatching(/msg="config\.yaml:\d+:\d+: accounts\[1\]\.api_key_header: .*Api-Key/),
      expect.stringMatching(/account=old interface="REST, which New Relic ends on 2027-07-31, in \d+ days: /),
    ]);
    expect(status).toBe(0);
  });

  it('sets flags of V8 for itself and for the demo; commands that end run with those of Node', async () => {
    const config = { accounts: [account(simulator)] };
    const [serve, demo, plan, check] = await Promise.all([
      runProgram(['serve', ADDRESS], { ...whenItListens, config, env: telling }),
      runProgram(['demo', ADDRESS, '--applications=1'], { ...whenItListens, env: telling }),
      runProgram(['plan'], { config, env: telling }),
      runProgram(['check'], { config, env: telling }),
    ]);
    const flagsOf = ({ stderr }: { readonly stderr: string }): string[] => stderr.match(/^V8 .*/gm) ?? [];
    // A further one follows as soon as the memory for new objects is large enough.
    const atOnce = ['V8 --heap-growing-percent=42', 'V8 --no-allocation-site-pretenuring'];
    expect(flagsOf(serve).slice(0, 2)).toEqual(atOnce);
    expect(flagsOf(demo).slice(0, 2)).toEqual(atOnce);
    expect([...flagsOf(plan), ...flagsOf(check)]).toEqual([]);
  });
});
