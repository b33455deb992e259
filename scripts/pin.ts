import { readFileSync, writeFileSync } from 'node:fs';
import { pinImage } from './pin/pinImage.ts';

const FILES = ['Dockerfile', 'deploy/compose.yaml'];
const IMAGE = /^[a-z0-9][\w./-]*:[\w.-]+$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

const [image = '', digest = ''] = process.argv.slice(2);
if (!IMAGE.test(image) || !DIGEST.test(digest)) {
  process.stderr.write('usage: npm run pin -- NAME:TAG sha256:DIGEST (64 hexadecimal digits)\n');
  process.exitCode = 2;
} else {
  const changed = pinFiles();
  const outcome =
    changed.length > 0 ? `pinned in ${changed.join(', ')}` : `nothing to change: no other use of ${image}`;
  process.stdout.write(`${outcome}\n`);
}

/** Pins the image to the digest in every file that names it. Returns the changed files. */
function pinFiles(): string[] {
  return FILES.filter((path) => {
    const file = new URL(`../${path}`, import.meta.url);
    const text = readFileSync(file, 'utf8');
    const pinned = pinImage(text, image, digest);
    if (pinned !== text) writeFileSync(file, pinned);
    return pinned !== text;
  });
}
