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
  ['refuses a part of the challenge', { challenge: challenge.slice(0, 20) }, 'INVALID_PASSKEY'],
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

test('of an attestation, no name is made of bytes', async () => {
  const json = new SoftwarePasskey().create({ ...party, challenge, userHandle: 'AAAA' });
  const object = Buffer.from(parseCredential(json).attestationObject, 'base64url');
  // The head of `fmt`: bytes in place of a text.
  object[1] = 0x43;
  expect(await reasonOf((async () => withoutAttestation(object))())).toBe('INVALID_PASSKEY');
});

/** Statements of CBOR, with lengths and numbers in all of their forms. */
test.each<[string, string, boolean]>([
  ['is empty', 'a0', true],
  ['has numbers', 'a661610061621818616319010061641a0000010061651b0000000000000100616620', true],
  ['has texts and bytes', `a361616162616258205${'0'.repeat(63)}61634401020304`, true],
  ['has a length of two bytes', `a16161590100${'00'.repeat(256)}`, true],
  ['has a length of four bytes', `a161615a00000100${'00'.repeat(256)}`, true],
  ['has a length of eight bytes', `a161615b0000000000000100${'00'.repeat(256)}`, true],
  ['has lists, maps and tags', 'a16161838101a10102c1c200', true],
  ['has lists in lists', 'a1616182818000', true],
  ['has maps in a map', 'a26161a101026162a0', true],
  ['has tags', 'a16161c1c200', true],
  ['ends too early', 'a16161', false],
  ['has a byte too many', 'a000', false],
  ['is a list', '80', false],
  ['has a length that is none', 'a161615c00', false],
  ['has such a length, and enough bytes', `a161615c${'00'.repeat(20)}`, false],
  ['has more items than bytes', 'a161619affffffff00', false],
])('an attestation whose statement %s', async (_, hex, isValid) => {
  const passkey = new SoftwarePasskey();
  const odd = { fmt: 'packed', attStmt: Buffer.from(hex, 'hex'), order: ['fmt', 'authData', 'attStmt'] };
  const credential = passkey.create({ ...party, challenge, userHandle: 'AAAA' }, odd);
  const bare = passkey.create({ ...party, challenge, userHandle: 'AAAA' });
  const read = (json: string) => withoutAttestation(Buffer.from(parseCredential(json).attestationObject, 'base64url'));
  if (isValid) expect(read(credential)).toEqual(read(bare));
  else expect(await reasonOf((async () => read(credential))())).toBe('INVALID_PASSKEY');
});

const answer = { clientDataJSON: 'AAAA', signature: 'AAAA' };
test.each<[string, object, boolean]>([
  ['as browsers send it', {}, true],
  ['of eight transports', { response: { ...answer, transports: Array(8).fill('usb') } }, true],
  ['of nine transports', { response: { ...answer, transports: Array(9).fill('usb') } }, false],
  ['of a transport that is a list', { response: { ...answer, transports: [['usb']] } }, false],
  ['of transports that are a text', { response: { ...answer, transports: 'usb' } }, false],
  ['of an ID that is a number', { id: 5, rawId: 5 }, false],
  ['of an empty ID', { id: '', rawId: '' }, false],
  ['of an ID with padding', { id: 'AA==', rawId: 'AA==' }, false],
  ['of an ID of 1,023 bytes', { id: 'A'.repeat(1_364), rawId: 'A'.repeat(1_364) }, true],
  ['of an ID of 1,024 bytes', { id: 'A'.repeat(1_366), rawId: 'A'.repeat(1_366) }, false],
  ['of two IDs', { rawId: 'BBBB' }, false],
  ['of another type', { type: 'password' }, false],
  ['of a signature that is a number', { response: { ...answer, signature: 5 } }, false],
  ['of a signature with padding', { response: { ...answer, signature: 'AA==' } }, false],
  ['without an answer', { response: undefined }, true],
])('a credential %s is one: %s', async (_, changes, isOne) => {
  const json = JSON.stringify({ id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: answer, ...changes });
  expect(await reasonOf((async () => void parseCredential(json))())).toBe(isOne ? undefined : 'INVALID_PASSKEY');
});

test.each([
  ['no JSON', 'no JSON'],
  ['a list', '[]'],
  [
    'a challenge that is a list',
    JSON.stringify({ type: 'webauthn.get', origin: party.origin, challenge: [challenge] }),
  ],
])('refuses client data that are %s', async (_, text) => {
  const credential = { clientDataJSON: Buffer.from(text).toString('base64url') } as ReturnType<typeof parseCredential>;
  expect(await reasonOf((async () => requireOwnRequest(credential, party, use, NOW))())).toBe('INVALID_PASSKEY');
});
