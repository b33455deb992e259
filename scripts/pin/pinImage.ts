/** The text with every use of the image (`name:tag`) bound to the digest, in the place of an earlier one. */
export function pinImage(text: string, image: string, digest: string): string {
  const escaped = image.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text.replace(new RegExp(`(?<=(?:^FROM|image:) +${escaped})(?:@sha256:[0-9a-f]+)?(?=\\s)`, 'gm'), `@${digest}`);
}
