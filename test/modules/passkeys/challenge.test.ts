import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Browser } from '../../../src/domain/sessions/browser.ts';
import { createChallenge, isChallenge } from '../../../src/modules/passkeys/domain/challenge.ts';
import { MINUTE } from '../../support/clock.ts';

const [keys, now] = [[createSecretKey(randomBytes(32))], new Date()];
const browser: Browser = {
  ...{ digest: randomBytes(32), address: '', userAgent: '' },
  ...{ answerDigest: randomBytes(32), knownAnswers: [] },
};
const use = { loginIntentId: randomUUID(), browser };

test.each([
  ['to sign in', 30, { ...use, purpose: 'passkey get' }],
  ['for a new passkey', 10, { ...use, purpose: 'passkey create', userId: randomUUID() }],
] as const)('a challenge %s lives for %i minutes', (_, minutes, of) => {
  const challenge = createChallenge(keys, of, now);
  const isLiveAfter = (ms: number) => isChallenge(keys, challenge, of, new Date(now.getTime() + ms));
  expect([isLiveAfter(minutes * MINUTE - 1), isLiveAfter(minutes * MINUTE)]).toEqual([true, false]);
});
