import { rememberedSignIns } from '../../../database/schema/login-schema.ts';
import { p, statement } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import { digestSignInToken } from './sign-in-token.ts';

/** Returns the ID of the user whose sign-in a browser with this token remembers. */
export async function findRememberedUser({ run, now }: Call, token: string): Promise<string | undefined> {
  const [found] = await run(selectUser, { tokenDigest: digestSignInToken(token), now });
  return found?.userId;
}

const selectUser = statement('select_remembered_user', { userId: rememberedSignIns.userId })`
  select user_id from remembered_sign_ins
  where token_digest = ${p.bytes('tokenDigest')} and expires_at > ${p.instant('now')}`;
