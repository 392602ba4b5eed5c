/** Why a held sign-in is not completed by the right factor. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { getLoginIntent } from '../../../../src/domain/login/get-login-intent.ts';
import { answerHeld } from '../../../../src/modules/second-factor/domain/complete-held-login.ts';
import { at, HOUR, NOW, openDomain } from '../../../support/domain-scene.ts';

const { insert, callAt, createUser, createApplication } = await openDomain();

test.each<[string, application: Record<string, unknown>, intent: object, reason: string]>([
  ['has ended', {}, {}, 'HELD_SIGN_IN_ENDED'],
  ['is of a login that has ended', {}, { expires_at: NOW }, 'LOGIN_INTENT_EXPIRED'],
  ['has no access any more', { restrict_access: true }, {}, 'ACCESS_NOT_ALLOWED'],
])('a held sign-in that %s', async (_, application, columns, reason) => {
  const [userId, application_id] = [await createUser(), await createApplication(application)];
  const { id: loginIntentId } = await insert('login_intents', { application_id, expires_at: at(HOUR), ...columns });
  const intent = await getLoginIntent(callAt(), { loginIntentId });
  const held = { userId, method: 'email', passkeyId: null, authenticatedAt: null };
  const browser = {
    digest: randomBytes(32),
    address: '::1',
    userAgent: '',
    answerDigest: randomBytes(32),
    knownAnswers: [],
  };
  const answer = answerHeld(callAt(), {} as never, browser, { intent, held } as never, { completedAt: null } as never);
  expect(await answer.catch((error) => error.reason)).toBe(reason);
});
