import { rememberedSignIns } from '../../../database/schema/login-schema.ts';
import { users } from '../../../database/schema/schema.ts';
import { p, type RowOfType, statement, t } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import type { LoginIntent } from '../../../domain/login/login-intent.ts';
import { digestSignInToken } from './sign-in-token.ts';
import { mayContinue, type SharingSettings, signInParameters, usableSignIn } from './usable-sign-in.ts';

const SHOWN = { email: users.email, name: users.name, authenticatedAt: t.instant };

/** The user and instant of a sign-in that the page offers to continue. */
export type RememberedSignIn = RowOfType<typeof SHOWN>;

/** Returns the sign-in of this token if it may complete the open intent. */
export async function findRememberedSignIn(
  { run, now }: Call,
  settings: SharingSettings,
  intent: Pick<LoginIntent, 'id' | 'applicationId' | 'singleSignOn' | 'prompt'>,
  token: string | undefined,
): Promise<RememberedSignIn | undefined> {
  const mayShare = intent.singleSignOn && intent.prompt !== 'LOGIN' && settings.singleSignOnMaxAgeSeconds > 0;
  if (token === undefined || !mayShare) return undefined;
  const login = { applicationId: intent.applicationId, loginIntentId: intent.id, token };
  const [found] = await run(selectRemembered, signInParameters(now, settings, login));
  return found;
}

const selectRemembered = statement('select_remembered_sign_in', SHOWN)`
  with ${usableSignIn}
  select r.email, r.name, r.authenticated_at from remembered r, login_intents i, applications a where ${mayContinue}`;

/** Returns the ID of the user whose sign-in a browser with this token remembers. */
export async function findRememberedUser({ run, now }: Call, token: string): Promise<string | undefined> {
  const [found] = await run(selectUser, { tokenDigest: digestSignInToken(token), now });
  return found?.userId;
}

const selectUser = statement('select_remembered_user', { userId: rememberedSignIns.userId })`
  select user_id from remembered_sign_ins
  where token_digest = ${p.bytes('tokenDigest')} and expires_at > ${p.instant('now')}`;
