/** Pins every use of the image (`name:tag`) in a text to the digest, and replaces an earlier digest. */
export function pinImage(text: string, image: string, digest: string): string {
  const escaped = image.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text.replace(new RegExp(`(?<=(?:^FROM|image:) +${escaped})(?:@sha256:[0-9a-f]+)?(?=\\s)`, 'gm'), `@${digest}`);
}
