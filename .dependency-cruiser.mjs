/**
 * Which folder of src may import which others, at any depth: imports point one way (docs/architecture.md). `tools` may import
 * everything.
 */
const MAY_IMPORT = {
  eventLoop: [],
  formulas: [],
  log: ['text'],
  nrql: ['text'],
  reads: [],
  text: [],
  api: ['eventLoop', 'formulas', 'log', 'nrql', 'reads', 'text'],
  metrics: ['api', 'formulas', 'nrql', 'reads'],
  config: ['api', 'log', 'metrics', 'nrql', 'reads', 'text'],
  exposition: ['eventLoop', 'metrics', 'reads'],
  collect: ['api', 'config', 'eventLoop', 'formulas', 'metrics', 'nrql', 'reads', 'text'],
  telemetry: ['api', 'collect', 'eventLoop', 'exposition', 'metrics', 'nrql', 'reads'],
  web: ['collect', 'config', 'eventLoop', 'exposition', 'metrics', 'reads', 'text'],
  cli: [
    'api',
    'collect',
    'config',
    'eventLoop',
    'exposition',
    'formulas',
    'log',
    'metrics',
    'nrql',
    'reads',
    'telemetry',
    'text',
    'web',
  ],
};

/** Folders in an order: each may import those before it, and none after it. */
const IN_ORDER = [
  ['src/api/http', 'src/api/rest'],
  ['src/api/http', 'src/api/nerdgraph'],
  ['src/collect/inventory', 'src/collect/schedule', 'src/collect/accounts', 'src/collect/serve'],
];

/** Folders that know nothing of each other. */
const APART = [
  ['src/api/rest', 'src/api/nerdgraph'],
  ['simulator/rest', 'simulator/nerdgraph'],
];

/** The world of the simulator is a pure function of seed and time: it imports nothing else. */
const ALONE = ['simulator/world', 'src/formulas'];

const forbidden = (name, comment, from, to) => ({ name, comment, severity: 'error', from, to });

export default {
  forbidden: [
    forbidden('no-circle', 'Files must not import each other in a circle.', {}, { circular: true }),
    {
      ...forbidden('no-folder-circle', 'Folders must not import each other in a circle.', {}, { circular: true }),
      scope: 'folder',
    },
    ...Object.entries(MAY_IMPORT).map(([folder, allowed]) =>
      forbidden(
        `${folder}-imports`,
        `src/${folder} may import ${allowed.length === 0 ? 'nothing else of ours' : allowed.join(', ')}: docs/architecture.md`,
        { path: `^src/${folder}/` },
        { path: '^src/', pathNot: `^src/(?:${[folder, ...allowed].join('|')})/` },
      ),
    ),
    ...IN_ORDER.flatMap((folders) =>
      folders.map((folder, place) =>
        forbidden(
          `${folder.split('/').slice(1).join('-')}-order`,
          `${folder} may import only what comes before it: ${folders.join(', ')}`,
          { path: `^${folder}/` },
          { path: folders.slice(place + 1).map((later) => `^${later}/`) },
        ),
      ),
    ).filter(({ to }) => to.path.length > 0),
    forbidden(
      'tools-when-needed',
      'src/main.ts loads src/tools only when a command needs it: the daemon does not',
      { path: '^src/main\\.ts$' },
      { path: '^src/tools/', dynamic: false },
    ),
    forbidden(
      'page-users',
      'Only src/web imports the status page: what a command shares with it is no part of the page',
      { path: '^src/', pathNot: '^src/web/' },
      { path: '^src/web/statusPage/' },
    ),
    forbidden(
      'simulator-shares-nothing',
      'The simulator imports nothing of src: a misreading of New Relic would confirm itself',
      { path: '^simulator/' },
      { path: '^src/' },
    ),
    forbidden(
      'simulator-users',
      'Only the commands demo and simulate, and their flags, load the simulator',
      { path: '^src/', pathNot: '^src/tools/(?:demo|simulate|simulatorFlags)\\.ts$' },
      { path: '^simulator/' },
    ),
    ...APART.flatMap(([a, b]) => [
      forbidden('apart', `${a} and ${b} must not know each other`, { path: `^${a}/` }, { path: `^${b}/` }),
      forbidden('apart', `${a} and ${b} must not know each other`, { path: `^${b}/` }, { path: `^${a}/` }),
    ]),
    ...ALONE.map((folder) =>
      forbidden(
        'alone',
        `${folder} imports nothing: it takes what it needs as arguments`,
        { path: `^${folder}/` },
        { pathNot: `^${folder}/` },
      ),
    ),
    forbidden(
      'one-prom-client',
      'src/telemetry/telemetry.ts is the only file that imports prom-client',
      { path: '^src/', pathNot: '^src/telemetry/telemetry\\.ts$' },
      { path: 'prom-client' },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
};
