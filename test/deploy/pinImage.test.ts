import { expect, test } from 'vitest';
import { pinImage } from '../../scripts/pin/pinImage.ts';
import { runCommand } from '../real/support/processes.ts';
import { textOf } from './yamlFiles.ts';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const IMAGE = 'node:24-bookworm-slim';

test('both stages of the Dockerfile are pinned to the digest, and nothing else changes', () => {
  const before = textOf('Dockerfile').replace(/@sha256:[0-9a-f]+/g, '');
  const after = pinImage(before, IMAGE, DIGEST);
  expect(after.match(/^FROM .*$/gm)).toEqual([`FROM ${IMAGE}@${DIGEST} AS build`, `FROM ${IMAGE}@${DIGEST}`]);
  expect(after.replaceAll(`@${DIGEST}`, '')).toBe(before);
});

test('an earlier digest is replaced, and another tag stays', () => {
  const text = `FROM ${IMAGE}@sha256:00\nFROM ${IMAGE}-other\n    image: ${IMAGE}\n`;
  expect(pinImage(text, IMAGE, DIGEST)).toBe(
    `FROM ${IMAGE}@${DIGEST}\nFROM ${IMAGE}-other\n    image: ${IMAGE}@${DIGEST}\n`,
  );
});

test.each([[['node', DIGEST]], [[IMAGE, 'sha256:short']], [[]]])('the arguments %j are wrong usage', async (args) => {
  const command = [process.execPath, '--import', 'tsx', 'scripts/pin.ts', ...args] as const;
  expect(await runCommand([command[0], ...command.slice(1)])).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^usage:/) as unknown,
  });
});
