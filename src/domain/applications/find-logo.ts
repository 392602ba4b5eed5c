import { type Statement, whereEqual } from '../../database/pool/database.ts';
import { applicationLogos } from '../../database/schema/login-schema.ts';
import type { Call } from '../core/call.ts';
import { UUID } from '../core/validation.ts';

interface Logo {
  readonly mediaType: string;
  readonly image: Buffer;
}

/** Returns the logo whose SHA-256 in hex is `digest`. Returns undefined for malformed arguments, too. */
export async function findLogo(
  { run }: Call,
  { applicationId, theme, digest }: { applicationId: string; theme: string; digest: string },
): Promise<Logo | undefined> {
  if (!UUID.test(applicationId) || !/^[0-9a-f]{64}$/.test(digest)) return undefined;
  const [logo] = await run(selectLogo, { applicationId, theme, digest: Buffer.from(digest, 'hex') });
  return logo;
}

const selectLogo: Statement<Logo[]> = (db) =>
  db
    .select({ mediaType: applicationLogos.mediaType, image: applicationLogos.image })
    .from(applicationLogos)
    .where(whereEqual(applicationLogos, 'applicationId', 'theme', 'digest'))
    .prepare('select_application_logo');

/** The path of all logos below the public URL. */
export const LOGO_PATH = '/login/logo';

/** Returns the path of a logo. It contains the digest, so browsers may cache the image for ever. */
export function logoPathOf(applicationId: string, theme: 'light' | 'dark', digest: Buffer): string {
  return `${LOGO_PATH}/${applicationId}/${theme}/${digest.toString('hex')}`;
}
