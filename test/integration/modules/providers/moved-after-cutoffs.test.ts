/** From when a sign-in counts that a provider has made earlier: after whatever would end it. */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { sidOf } from '../../../../src/domain/sessions/sid.ts';
import { moveAfterCutoffs } from '../../../../src/modules/providers/domain/provider-freshness.ts';
import { at, DAY, HOUR, openDomain } from '../../../support/domain-scene.ts';

const { sql, insert, callAt, createApplication, createUser } = await openDomain();

async function createSignIn() {
  // Another user has a cut-off of their own.
  const other = await createUser();
  await insert('user_cutoffs', { user_id: other, cutoff_at: at(-1) });
  return {
    applicationId: await createApplication(),
    userId: await createUser(),
    browserDigest: randomBytes(32),
    other,
  };
}

type SignIn = Awaited<ReturnType<typeof createSignIn>>;

const inBrowser = (userId: string, digest: Buffer, ms: number) => sql`
  insert into browser_cutoffs (user_id, browser_digest, cutoff_at, expires_at)
  values (${userId}, ${digest}, ${at(ms)}, ${at(DAY)})`;
const sidOfSignIn = ({ applicationId, userId, browserDigest }: SignIn) => sidOf(applicationId, userId, browserDigest);

test.each<[what: string, cutOff: (signIn: SignIn) => Promise<unknown>, ms: number]>([
  ['nothing', async () => {}, -2 * HOUR],
  ['a sign-out everywhere since', ({ userId }) => insert('user_cutoffs', { user_id: userId }), -HOUR + 1],
  ['one before it', ({ userId }) => insert('user_cutoffs', { user_id: userId, cutoff_at: at(-3 * HOUR) }), -2 * HOUR],
  [
    'a sign-out in this browser of this application',
    (signIn) => insert('session_cutoffs', { application_id: signIn.applicationId, user_id: sidOfSignIn(signIn) }),
    -HOUR + 1,
  ],
  [
    'one in another application',
    (signIn) => insert('session_cutoffs', { application_id: randomUUID(), user_id: sidOfSignIn(signIn) }),
    -2 * HOUR,
  ],
  [
    'one in another browser',
    ({ applicationId }) => insert('session_cutoffs', { application_id: applicationId, user_id: randomUUID() }),
    -2 * HOUR,
  ],
  ['an end in this browser', ({ userId, browserDigest }) => inBrowser(userId, browserDigest, -HOUR), -HOUR + 1],
  ['an end in another browser', ({ userId }) => inBrowser(userId, randomBytes(32), -HOUR), -2 * HOUR],
  ['an end of another user', ({ other, browserDigest }) => inBrowser(other, browserDigest, -HOUR), -2 * HOUR],
  [
    'the latest of several',
    async ({ applicationId, userId, browserDigest }) => {
      await insert('session_cutoffs', { application_id: applicationId, user_id: userId, cutoff_at: at(-HOUR / 2) });
      await insert('user_cutoffs', { user_id: userId });
      await inBrowser(userId, browserDigest, -HOUR);
    },
    -HOUR / 2 + 1,
  ],
])('a sign-in of two hours ago, and %s', async (_, cutOff, ms) => {
  const signIn = await createSignIn();
  await cutOff(signIn);
  expect(await moveAfterCutoffs(callAt(), at(-2 * HOUR), signIn)).toEqual(at(ms));
});

test('a sign-in of a user who has gone meanwhile stays where it was', async () => {
  const signIn = { ...(await createSignIn()), userId: randomUUID() };
  expect(await moveAfterCutoffs(callAt(), at(-2 * HOUR), signIn)).toEqual(at(-2 * HOUR));
});
