import { p, statement } from '../../database/template.ts';
import type { Call } from '../call.ts';
import { digestSignInToken } from './sign-in-token.ts';

/** Forgets the sign-in of this token, if there is one. Sessions that it has begun live on. */
export async function forgetSignIn({ run }: Call, token: string): Promise<void> {
  await run(deleteSignIn, { tokenDigest: digestSignInToken(token) });
}

const deleteSignIn = statement('delete_remembered_sign_in')`
  delete from remembered_sign_ins where token_digest = ${p.bytes('tokenDigest')}`;
