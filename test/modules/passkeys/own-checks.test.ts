/** What Usher checks itself, before the library that checks some of it again. */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type ChallengeUse, createChallenge, isChallenge } from '../../../src/modules/passkeys/domain/challenge.ts';
import { parseCredential, requireOwnRequest } from '../../../src/modules/passkeys/domain/credential.ts';
import { createRelyingParty } from '../../../src/modules/passkeys/domain/relying-party.ts';
import { withoutAttestation } from '../../../src/modules/passkeys/domain/verify-passkey.ts';
import { newBrowser } from '../../support/new-browser.ts';
import { SoftwarePasskey } from '../../support/passkey.ts';
import { reasonOf } from '../../support/refusals.ts';

const NOW = new Date('2030-01-02T03:04:05.678Z');
const party = createRelyingParty('https://usher.test/login', undefined, [randomBytes(32)]);
const browser = newBrowser();
const use: ChallengeUse = { purpose: 'passkey get', loginIntentId: randomUUID(), browser };
const challenge = createChallenge(party.keys, use, NOW);

test.each<[string, Record<string, unknown> | undefined, string | undefined]>([
  ['accepts what the page has asked for', {}, undefined],
  ['refuses another type', { type: 'webauthn.create' }, 'INVALID_PASSKEY'],
  ['refuses another origin', { origin: 'https://usher.test:8443' }, 'INVALID_PASSKEY'],
  ['refuses a frame of another origin', { crossOrigin: true }, 'INVALID_PASSKEY'],
  ['refuses a page below another one', { topOrigin: 'https://usher.test' }, 'INVALID_PASSKEY'],
  ['refuses another challenge', { challenge: challenge.toLowerCase() }, 'INVALID_PASSKEY'],
])('%s', async (_, clientData, reason) => {
  const json = new SoftwarePasskey().answer({ ...party, challenge }, { ...(clientData && { clientData }) });
  const check = async () => requireOwnRequest(parseCredential(json), party, use, NOW);
  expect(await reasonOf(check())).toBe(reason);
});

test('a challenge is good for one purpose, login, browser and user', () => {
  const others: ChallengeUse[] = [
    { ...use, purpose: 'passkey create' },
    { ...use, loginIntentId: randomUUID() },
    { ...use, browser: { ...browser, digest: randomBytes(32) } },
    { ...use, userId: randomUUID() },
  ];
  expect(isChallenge(party.keys, challenge, use, NOW)).toBe(true);
  for (const other of others) expect(isChallenge(party.keys, challenge, other, NOW)).toBe(false);
});

test('of an attestation, the data of the authenticator stay', () => {
  const objectOf = (odd: Parameters<SoftwarePasskey['create']>[1]) =>
    Buffer.from(
      parseCredential(passkey.create({ ...party, challenge, userHandle: 'AAAA' }, odd)).attestationObject,
      'base64url',
    );
  const passkey = new SoftwarePasskey();
  // {"alg": -7, "sig": h'0102', "x5c": [h'03']}
  const attStmt = Buffer.from('a363616c67266373696742010263783563814103', 'hex');
  const none = withoutAttestation(objectOf({}));
  expect(withoutAttestation(objectOf({ fmt: 'packed', attStmt }))).toEqual(none);
  expect(none.toString('latin1')).toContain('cfmtdnonegattStmt\xa0hauthData');
});
