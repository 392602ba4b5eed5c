import { rememberedSignIns } from '../../../database/schema/login-schema.ts';
import { p, statement } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import { digestSignInToken } from './sign-in-token.ts';

/**
 * Forgets the sign-in of this token, and returns its user. Returns undefined if there is none. Sessions that began with
 * it live on.
 *
 * @param userId if given, the sign-in must be that user's
 */
export async function forgetSignIn(
  { run }: Call,
  token: string,
  userId: string | null = null,
): Promise<string | undefined> {
  const [forgotten] = await run(deleteSignIn, { tokenDigest: digestSignInToken(token), userId });
  return forgotten?.userId;
}

const deleteSignIn = statement('delete_remembered_sign_in', { userId: rememberedSignIns.userId })`
  with forgotten as (
    delete from remembered_sign_ins
    where token_digest = ${p.bytes('tokenDigest')} and (${p.uuid('userId')} is null or user_id = ${p.uuid('userId')})
    returning user_id
  )
  select user_id from forgotten`;
