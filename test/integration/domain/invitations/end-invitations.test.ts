/** Conditions of the statements that end invitations, a row each. */
import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { expireInvitations } from '../../../../src/domain/invitations/expire-invitations.ts';
import { revokeInvitation } from '../../../../src/domain/invitations/revoke-invitation.ts';
import { at, CREATED, DAY, LATER, NOW, openInvitations } from '../../../support/invitation-scene.ts';

const {
  sql,
  callAt,
  callOf,
  here,
  elsewhere,
  createStranger,
  insertInvitation,
  insertAdded,
  insertEntry,
  invitationsOf,
  isAdded,
  groups,
} = await openInvitations();

describe('a revocation', () => {
  const revoke = (invitationId: string, call = callAt()) => revokeInvitation(callOf(here, call), { invitationId });

  test('takes away what the invitation has given, and nothing of others', async () => {
    const [{ id }, { id: other }] = [await createStranger(), await createStranger()];
    const invitationId = await insertInvitation(id, { added_user: true });
    await insertInvitation(other, { added_user: true });
    // Operators may restore one application from the data of another.
    await insertInvitation(other, { application_id: elsewhere.id, id: invitationId, added_user: true });
    for (const userId of [id, other]) for (const of of [here, elsewhere]) await insertAdded(userId, of);
    const notices = [
      { user_id: id, application_id: here.id, kind: 'invitation' },
      { user_id: id, application_id: here.id, kind: 'newDevice' },
      { user_id: id, application_id: elsewhere.id, kind: 'invitation' },
      { user_id: other, application_id: here.id, kind: 'invitation' },
    ];
    for (const notice of notices) {
      const row = { ...notice, id: randomUUID(), recipient: 'a@b.test', value: '', language: 'en', changed_at: NOW };
      await sql`insert into notices ${sql({ ...row, due_at: LATER, expires_at: LATER } as never)}`;
    }
    expect(await revoke(invitationId)).toBe(id);
    expect(await sql`select user_id, application_id, kind from notices where user_id = any(${[id, other]})`).toEqual(
      expect.arrayContaining(notices.slice(1)),
    );
    expect(await sql`select from notices where user_id = ${id} and application_id = ${here.id}`).toHaveLength(1);
    expect([await isAdded(id), await isAdded(id, elsewhere)]).toEqual([false, true]);
    expect([await isAdded(other), await isAdded(other, elsewhere)]).toEqual([true, true]);
    expect([await invitationsOf(id), await invitationsOf(other)].map(({ length }) => length)).toEqual([0, 1]);
    expect(await invitationsOf(other, elsewhere)).toHaveLength(1);
  });

  test('leaves the access that it has not given', async () => {
    const { id } = await createStranger();
    await insertAdded(id);
    await revoke(await insertInvitation(id));
    expect(await isAdded(id)).toBe(true);
  });

  const addressOf = async (id: string) => (await sql`select email from users where id = ${id}`)[0]?.email;

  test.each<[string, object, isErased: boolean]>([
    ['erases the user whom it has created', { created_user: true }, true],
    ['leaves a user from before', {}, false],
    ['leaves a user who has accepted it', { created_user: true, accepted_at: CREATED }, false],
  ])('%s', async (_, columns, isErased) => {
    const { id, email } = await createStranger();
    await revoke(await insertInvitation(id, columns));
    expect(await addressOf(id)).toBe(isErased ? '' : email);
  });

  const profile = (columns: object) => (id: string) => sql`update users set ${sql(columns as never)} where id = ${id}`;

  /** Gets a row in the table, with the columns that it must have. */
  const rowIn =
    (table: string, columns: (userId: string) => object, owner = 'user_id') =>
    async (id: string) =>
      sql`insert into ${sql(table)} ${sql({ [owner]: id, ...columns(id) } as never)}`;

  const ofApplication = { application_id: elsewhere.id };
  const named = { ...ofApplication, id: randomUUID() };

  test.each<[string, (userId: string) => Promise<unknown>]>([
    ['a deletion', profile({ deleted_at: NOW })],
    ['a deactivation', profile({ deactivated_at: NOW })],
    ['a wallet', profile({ wallet_address: `0x${'1'.repeat(40)}` })],
    ['an address that is verified', profile({ email_verified_at: NOW })],
    ['another address', profile({ email_changed_at: NOW })],
    ['a picture', profile({ profile_image: 'https://img.test/ada' })],
    ['an external ID', profile({ external_id: randomUUID() })],
    ['attributes', profile({ attributes: { plan: 'pro' } })],
    [
      'an entry in another application',
      rowIn('application_users', () => ({ ...ofApplication, first_signed_in_at: NOW })),
    ],
    ['the access to another application', rowIn('added_users', () => ({ ...ofApplication, added_at: NOW }))],
    ['an invitation to another application', (id) => insertInvitation(id, ofApplication)],
    ['a group', rowIn('group_members', () => ({ group_id: groups[0], added_at: NOW }))],
    [
      'a login',
      rowIn('login_intents', () => ({ ...named, redirect_uri: '', state: '', created_at: NOW, expires_at: LATER })),
    ],
    [
      'a session',
      rowIn('sessions', () => ({
        ...{ ...named, email: '', wallet_address: '', ip_address: '', user_agent: '', method: 'email' },
        ...{ authenticated_at: NOW, began_at: NOW, created_at: NOW, expires_at: LATER },
      })),
    ],
    [
      'a grant',
      rowIn('oidc_grants', () => ({
        ...{ ...named, sid: randomUUID(), scope: 0, method: 'email', ip_address: '', user_agent: '', rotation: 0 },
        ...{ authenticated_at: NOW, created_at: NOW, expires_at: LATER },
      })),
    ],
    [
      'a passkey',
      rowIn('passkeys', () => ({
        ...{ id: randomUUID(), credential_id: randomBytes(16), rp_id: 'usher.test', public_key: Buffer.of(0) },
        ...{ sign_count: 0, transports: [], aaguid: randomUUID(), name: 'Key', created_at: NOW },
        ...{ is_backup_eligible: true, is_backed_up: true, is_user_verified: true },
      })),
    ],
    [
      'an account at a provider',
      rowIn('user_identities', (id) => ({
        ...{ issuer: 'https://acme.test', subject: id, provider: 'acme', created_at: NOW },
      })),
    ],
    [
      'a webhook',
      rowIn(
        'webhooks',
        () => ({
          ...{ ...ofApplication, id: randomUUID(), url: 'https://hooks.test', signing_key: Buffer.of(0) },
          ...{ event_types: [], created_at: NOW, updated_at: NOW },
        }),
        'owner_id',
      ),
    ],
  ])('leaves a user who meanwhile gets %s', async (_, give) => {
    const { id, email } = await createStranger();
    const invitationId = await insertInvitation(id, { created_user: true });
    await revoke(invitationId, callAt(NOW, { revokeInvitation: () => give(id) }));
    expect(await addressOf(id)).toBe(email);
  });
});

describe('the job that withdraws expired invitations', () => {
  const EXPIRED = at(-1);

  const run = async (call = callAt()) => {
    while (await expireInvitations(call));
  };
  const stateOf = async (userId: string) => {
    const [row] = await invitationsOf(userId);
    return row ? (row.accepted_at ? 'accepted' : 'open') : 'withdrawn';
  };

  test.each<[string, columns: object, prepare: (userId: string) => Promise<unknown>, state: string]>([
    ['withdraws one that ends now', { expires_at: NOW }, async () => {}, 'withdrawn'],
    ['leaves one that ends then', { expires_at: at(1) }, async () => {}, 'open'],
    ['leaves one that is accepted', { accepted_at: CREATED }, async () => {}, 'accepted'],
    ['leaves the date of one that is accepted', { accepted_at: CREATED }, (id) => insertEntry(id), 'accepted'],
    ['accepts one whose user came with it', {}, (id) => insertEntry(id, CREATED), 'accepted'],
    ['accepts one whose user came at last', {}, (id) => insertEntry(id, at(-2)), 'accepted'],
    ['withdraws one whose user came before', {}, (id) => insertEntry(id, at(-DAY - 1)), 'withdrawn'],
    ['withdraws one whose user came too late', {}, (id) => insertEntry(id, EXPIRED), 'withdrawn'],
    ['withdraws one whose user came elsewhere', {}, (id) => insertEntry(id, CREATED, elsewhere), 'withdrawn'],
    ['withdraws one where somebody else came', {}, () => insertEntry(randomUUID()), 'withdrawn'],
    [
      'withdraws one where somebody came on behalf of the user',
      { on_behalf_at: CREATED },
      (id) => insertEntry(id),
      'withdrawn',
    ],
  ])('%s', async (_, columns, prepare, state) => {
    const { id } = await createStranger();
    await insertInvitation(id, { expires_at: EXPIRED, added_user: true, ...columns });
    await insertAdded(id);
    await prepare(id);
    await run();
    expect([await stateOf(id), await isAdded(id)]).toEqual([state, state !== 'withdrawn']);
    if ('accepted_at' in columns) expect(await invitationsOf(id)).toMatchObject([columns]);
    await sql`delete from invitations where application_id = ${here.id}`;
  });

  test.each<[string, columns: object, prepare: (userId: string) => Promise<unknown>]>([
    ['accepted', { accepted_at: CREATED }, async () => {}],
    ['accepted by a user who has come', { accepted_at: CREATED }, (id) => insertEntry(id)],
    ['renewed', { accepted_at: null, expires_at: at(1) }, async () => {}],
  ])('leaves one that is %s meanwhile', async (_, columns, prepare) => {
    const { id } = await createStranger();
    await insertInvitation(id, { expires_at: EXPIRED });
    await prepare(id);
    const change = () => sql`update invitations set ${sql(columns as never)} where user_id = ${id}`;
    await run(callAt(NOW, { selectExpiredInvitations: change }));
    expect(await invitationsOf(id)).toMatchObject([columns]);
  });

  test('leaves the date of one that is accepted before it is accepted late', async () => {
    const { id } = await createStranger();
    await insertInvitation(id, { expires_at: EXPIRED });
    await insertEntry(id);
    const accept = () => sql`update invitations set accepted_at = ${CREATED} where user_id = ${id}`;
    await run(callAt(NOW, { selectInvitedSignIn: accept }));
    expect(await invitationsOf(id)).toMatchObject([{ accepted_at: CREATED }]);
  });

  test('accepts late no other invitation', async () => {
    const [{ id }, { id: other }] = [await createStranger(), await createStranger()];
    const invitationId = await insertInvitation(id, { expires_at: EXPIRED });
    await insertEntry(id);
    await insertInvitation(other);
    await insertInvitation(other, { application_id: elsewhere.id, id: invitationId });
    await run();
    expect([await stateOf(id), await stateOf(other)]).toEqual(['accepted', 'open']);
    expect(await invitationsOf(other, elsewhere)).toMatchObject([{ accepted_at: null }]);
  });

  test('goes on as long as there are more than it takes at once, those that have ended first', async () => {
    await run();
    for (let open = 0; open < 100; open++) {
      await insertInvitation(randomUUID());
      await insertInvitation(randomUUID(), { accepted_at: CREATED, expires_at: EXPIRED });
    }
    const users = await Promise.all(Array.from({ length: 101 }, () => createStranger()));
    for (const [place, { id }] of users.toReversed().entries())
      await insertInvitation(id, { expires_at: at(-1_000 * place - 1) });
    await insertInvitation(randomUUID(), { accepted_at: CREATED, expires_at: at(-DAY) });
    expect(await expireInvitations(callAt())).toBe(true);
    expect(await stateOf(users.at(-2)?.id ?? '')).toBe('withdrawn');
    expect(await stateOf(users.at(-1)?.id ?? '')).toBe('open');
    expect(await expireInvitations(callAt())).toBe(false);
    expect(await stateOf(users.at(-1)?.id ?? '')).toBe('withdrawn');
  });
});
