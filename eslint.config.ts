import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Modules that reach outside the process; pure code takes what it needs as arguments. */
const IMPURE = ['node:*', 'undici', 'express', 'prom-client', 'pino'];
const PURE_FILES = [
  'src/formulas/**/*.ts',
  'src/metrics/**/*.ts',
  'src/collect/schedule/due.ts',
  'src/collect/inventory/window.ts',
  'src/collect/schedule/budget.ts',
  'simulator/world/**/*.ts',
];

/** Names of variables and parameters that no search finds. Keys of public JSON may have them. */
const UNSEARCHABLE = [
  'VariableDeclarator > Identifier.id',
  ':function > Identifier.params',
  ':function > AssignmentPattern.params > Identifier.left',
  'ObjectPattern > Property > Identifier.value',
  'ObjectPattern > Property > AssignmentPattern > Identifier.left',
  'ArrayPattern > Identifier',
  'RestElement > Identifier',
].map((selector) => ({
  selector: `${selector}[name=/^(of|at|own|left|made|given|kept|those)$/]`,
  message: 'Choose a name that can be searched for.',
}));

export default defineConfig(
  { ignores: ['dist', 'dist.*/', 'coverage', '.cache', 'test-output', '.dependency-cruiser.mjs'] },
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      // The code has no enums, and this check takes half of the linter's time.
      '@typescript-eslint/no-unsafe-enum-assignment': 'off',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unnecessary-condition': ['error', { allowConstantLoopConditions: true }],
      'no-console': 'error',
      eqeqeq: 'error',
    },
  },
  {
    files: ['{src,simulator,test,bench,scripts,monitoring}/**/*.ts'],
    rules: { 'no-restricted-syntax': ['error', ...UNSEARCHABLE] },
  },
  {
    files: ['{src,simulator}/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        { selector: 'ExportDefaultDeclaration', message: 'No default exports.' },
        ...UNSEARCHABLE,
      ],
    },
  },
  {
    files: PURE_FILES,
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ group: IMPURE, message: 'This file is pure: take it as an argument.' }] },
      ],
      'no-restricted-globals': ['error', 'process', 'setTimeout', 'setInterval', 'performance', 'fetch'],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'Time is an argument here.' },
        { object: 'Math', property: 'random', message: 'Randomness is an argument here.' },
      ],
    },
  },
  {
    files: ['scripts/**/*.ts', 'bench/**/*.ts', 'monitoring/**/*.ts', 'src/{cli,tools}/**/*.ts'],
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
  {
    // A process evaluates a support module once, for the first test file that imports it.
    files: ['test/**/*.ts'],
    ignores: ['test/**/*.test.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'Program > ExpressionStatement > CallExpression[callee.name=/^(before|after)(All|Each)$/]',
          message: 'This runs for the first test file of a process only. Export a function, and call it in each file.',
        },
        ...UNSEARCHABLE,
      ],
    },
  },
  { files: ['test/**/*.ts'], rules: { '@typescript-eslint/no-non-null-assertion': 'off' } },
);
