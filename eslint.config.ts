import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** What each folder of src may not import, so that imports point one way: web -> collect -> api. */
const FORBIDDEN_FOLDERS: Record<string, readonly string[]> = {
  formulas: ['api', 'cli', 'collect', 'config', 'exposition', 'metrics', 'simulator', 'telemetry', 'web', 'log'],
  metrics: ['cli', 'collect', 'config', 'exposition', 'simulator', 'telemetry', 'web', 'log'],
  api: ['cli', 'collect', 'config', 'exposition', 'formulas', 'metrics', 'simulator', 'telemetry', 'web'],
  config: ['api', 'cli', 'collect', 'exposition', 'formulas', 'simulator', 'telemetry', 'web'],
  collect: ['cli', 'exposition', 'simulator', 'telemetry', 'web'],
  exposition: ['api', 'cli', 'collect', 'config', 'formulas', 'simulator', 'telemetry', 'web', 'log'],
  telemetry: ['cli', 'formulas', 'simulator', 'web'],
  web: ['cli', 'formulas', 'simulator'],
  simulator: ['api', 'cli', 'collect', 'config', 'exposition', 'formulas', 'metrics', 'telemetry', 'web', 'log'],
};

/** Modules that reach outside the process; pure code takes what it needs as arguments. */
const IMPURE = ['node:*', 'undici', 'express', 'prom-client', 'pino'];
const PURE_FILES = [
  'src/formulas/**/*.ts',
  'src/metrics/**/*.ts',
  'src/collect/schedule/window.ts',
  'src/collect/schedule/plan.ts',
  'src/collect/schedule/due.ts',
  'src/collect/schedule/budget.ts',
  'src/simulator/world/**/*.ts',
];

const importPatterns = (folders: readonly string[], modules: readonly string[]) => ({
  patterns: [
    { group: folders.map((folder) => `../${folder}/**`), message: 'Imports point one way: see docs/architecture.md.' },
    ...(modules.length === 0 ? [] : [{ group: [...modules], message: 'This file is pure: take it as an argument.' }]),
  ],
});

export default defineConfig(
  { ignores: ['dist', 'coverage', '.cache', 'test-output'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'no-restricted-syntax': ['error', { selector: 'ExportDefaultDeclaration', message: 'No default exports.' }],
    },
  },
  ...Object.entries(FORBIDDEN_FOLDERS).map(([folder, forbidden]) => ({
    files: [`src/${folder}/**/*.ts`],
    rules: { 'no-restricted-imports': ['error', importPatterns(forbidden, [])] as ['error', object] },
  })),
  ...PURE_FILES.map((file) => {
    const folder = file.split('/')[1] ?? '';
    return {
      files: [file],
      rules: {
        'no-restricted-imports': ['error', importPatterns(FORBIDDEN_FOLDERS[folder] ?? [], IMPURE)] as [
          'error',
          object,
        ],
        'no-restricted-globals': ['error', 'process', 'setTimeout', 'setInterval', 'performance', 'fetch'] as [
          'error',
          ...string[],
        ],
        'no-restricted-properties': [
          'error',
          { object: 'Date', property: 'now', message: 'Time is an argument here.' },
          { object: 'Math', property: 'random', message: 'Randomness is an argument here.' },
        ] as ['error', ...object[]],
      },
    };
  }),
  {
    files: ['scripts/**/*.ts', 'bench/**/*.ts', 'monitoring/**/*.ts', 'src/cli/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  {
    // The classic dashboard schema is deprecated in favour of one that older Grafanas cannot import.
    files: ['monitoring/**/*.ts'],
    rules: {
      '@typescript-eslint/no-deprecated': [
        'error',
        {
          allow: [
            { from: 'package', package: '@grafana/grafana-foundation-sdk', name: ['Dashboard', 'DashboardBuilder'] },
          ],
        },
      ],
    },
  },
  { files: ['test/**/*.ts'], rules: { '@typescript-eslint/no-non-null-assertion': 'off' } },
);
