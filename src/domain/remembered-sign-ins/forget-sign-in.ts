import { p, statement } from '../../database/template.ts';
import type { Call } from '../call.ts';
import { digestSignInToken } from './sign-in-token.ts';

/**
 * Forgets the sign-in of this token. Returns false if there is none. Sessions that began with it live on.
 *
 * @param userId if given, the sign-in must be that user's
 */
export async function forgetSignIn({ run }: Call, token: string, userId: string | null = null): Promise<boolean> {
  const [forgotten] = await run(deleteSignIn, { tokenDigest: digestSignInToken(token), userId });
  return forgotten !== undefined;
}

const deleteSignIn = statement('delete_remembered_sign_in')`
  with forgotten as (
    delete from remembered_sign_ins
    where token_digest = ${p.bytes('tokenDigest')} and (${p.uuid('userId')} is null or user_id = ${p.uuid('userId')})
    returning user_id
  )
  select from forgotten`;
