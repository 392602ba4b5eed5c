/** The path of all logos below the public URL. */
export const LOGO_PATH = '/login/logo';

/** Returns the path of a logo. It contains the digest, so browsers may cache the image for ever. */
export function logoPathOf(applicationId: string, theme: 'light' | 'dark', digest: Buffer): string {
  return `${LOGO_PATH}/${applicationId}/${theme}/${digest.toString('hex')}`;
}
