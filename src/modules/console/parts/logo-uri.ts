import type { ApplicationDetails } from '../../../domain/applications/application.ts';
import { findLogo } from '../../../domain/applications/find-logo.ts';
import type { Call } from '../../../domain/core/call.ts';

/** Returns a logo as a data URI, so that it also loads if the browser cannot reach the port of the API. */
export async function readLogoUri(
  call: Call,
  { id, logoDigest, darkLogoDigest }: ApplicationDetails,
  theme: 'light' | 'dark',
): Promise<string | undefined> {
  const digest = theme === 'dark' ? darkLogoDigest : logoDigest;
  const found = digest && (await findLogo(call, { applicationId: id, theme, digest: digest.toString('hex') }));
  return found ? `data:${found.mediaType};base64,${found.image.toString('base64')}` : undefined;
}
