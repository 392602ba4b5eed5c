/** Conditions of the statements that accept invitations, and of what operators give besides, a row each. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { acceptInvitation, noteEntryOnBehalf } from '../../../../src/domain/login/accept-invitation.ts';
import { completeLogin } from '../../../../src/domain/login/complete-login.ts';
import { AuthTokens } from '../../../../src/domain/tokens/auth-tokens.ts';
import { at, CREATED, DAY, LATER, NOW, openInvitations } from '../../../support/invitation-scene.ts';
import { createLoginIntent, createTestUser, createTestWebhook, PUBLIC_URL } from '../../../support/service.ts';

const {
  service,
  sql,
  admin,
  callAt,
  createInviter,
  here,
  elsewhere,
  createStranger,
  insertInvitation,
  insertAdded,
  insertEntry,
  invitationsOf,
} = await openInvitations();
const tokens = await AuthTokens.create(PUBLIC_URL, service.config.secrets.authSigningKeys ?? []);

describe('a sign-in', () => {
  const signIn = async (userId: string) => {
    const woken: string[] = [];
    const call = { ...callAt(), onMessage: (applicationId: string) => void woken.push(applicationId) };
    await acceptInvitation(call, { applicationId: here.id, userId });
    return woken;
  };

  test.each<[string, columns: object, after: object]>([
    ['accepts the open one', {}, { accepted_at: NOW }],
    ['leaves one that ends now', { expires_at: NOW }, { accepted_at: null }],
    ['leaves one that was accepted', { accepted_at: CREATED }, { accepted_at: CREATED }],
    ['leaves one to another application', { application_id: elsewhere.id }, { accepted_at: null }],
    ['leaves one of another user', { user_id: randomUUID() }, { accepted_at: null }],
  ])('%s', async (_, columns, after) => {
    const { id } = await createStranger();
    const invitationId = await insertInvitation(id, columns);
    await signIn(id);
    expect(await sql`select accepted_at from invitations where id = ${invitationId}`).toEqual([after]);
  });

  test.each<[string, columns: object, isAccepting: boolean]>([
    ['one that is open', {}, true],
    ['one that ends now', { expires_at: NOW }, false],
    ['one that was accepted', { accepted_at: CREATED }, false],
    ['one to another application', { application_id: elsewhere.id }, false],
    ['one of another user', { user_id: randomUUID() }, false],
  ])('costs a statement more with %s, or does not', async (_, columns, isAccepting) => {
    const { id } = await createStranger();
    await insertInvitation(id, columns);
    const loginIntentId = await createLoginIntent(service, here);
    let count = 0;
    const call = callAt(NOW, { acceptInvitation: async () => count++ });
    await completeLogin(call, tokens, { loginIntentId, userId: id });
    expect(count).toBe(isAccepting ? 1 : 0);
  });

  test('brings the groups by name that there is room for, and none that is deleted or known', async () => {
    const { id } = await createStranger();
    const mark = randomUUID().slice(0, 8);
    const rows = Array.from({ length: 102 }, (_, place) => ({
      ...{ id: randomUUID(), name: `${mark}-${String(place).padStart(3, '0')}`, created_at: CREATED },
      ...{ deleted_at: place === 99 ? CREATED : null },
    }));
    await sql`insert into groups ${sql(rows as never)}`;
    const members = rows.slice(0, 99).map((group) => ({ group_id: group.id, user_id: id, added_at: CREATED }));
    members.push({ group_id: rows[100]?.id ?? randomUUID(), user_id: (await createStranger()).id, added_at: CREATED });
    await sql`insert into group_members ${sql(members as never)}`;
    const wanted = [101, 100, 99, 98].map((place) => rows[place]?.id);
    await insertInvitation(id, { group_ids: wanted });
    await signIn(id);
    const joined = await sql`
      select g.name from group_members join groups g on g.id = group_id where user_id = ${id} and added_at = ${NOW}`;
    expect(joined).toEqual([{ name: `${mark}-100` }]);
  });

  const told = async (userId: string) =>
    (await sql`select application_id from webhook_messages where type = 'user.created' and user_id = ${userId}`).map(
      ({ application_id }) => application_id,
    );

  test.each<[string, columns: object, prepare: (userId: string) => Promise<unknown>, isTold: boolean]>([
    ['whom the invitation has let in', { added_user: true }, async () => {}, true],
    ['who had been let in before', {}, async () => {}, false],
    ['who had signed in before', { added_user: true }, (id) => insertEntry(id), false],
    ['who had signed in elsewhere', { added_user: true }, (id) => insertEntry(id, CREATED, elsewhere), true],
    ['beside others who had signed in', { added_user: true }, () => insertEntry(randomUUID()), true],
  ])('tells of a user %s, or does not', async (_, columns, prepare, isTold) => {
    const { webhookId } = await createTestWebhook(service, here);
    await sql`update webhooks set event_types = '{user.created}' where id = ${webhookId}`;
    const { id } = await createStranger();
    await insertInvitation(id, columns);
    await prepare(id);
    const woken = await signIn(id);
    expect([woken, await told(id)]).toEqual(Array(2).fill(isTold ? [here.id] : []));
  });

  test('on behalf of a user is noted of the invitation to this application alone', async () => {
    const [{ id }, { id: other }] = [await createStranger(), await createStranger()];
    await insertInvitation(id);
    await insertInvitation(id, { application_id: elsewhere.id });
    await insertInvitation(other);
    await noteEntryOnBehalf(callAt(), { applicationId: here.id, userId: id });
    const rows = await sql`
      select user_id, application_id from invitations
      where on_behalf_at = ${NOW} and user_id = any(${[id, other]})`;
    expect(rows).toEqual([{ user_id: id, application_id: here.id }]);
  });
});

describe('what an operator gives makes an invitation take away less', () => {
  const both = { created_user: true, added_user: true };

  test.each<[string, (userId: string) => Promise<unknown>, object]>([
    [
      'the same access',
      (userId) => admin.addApplicationUser({ applicationId: here.id, userId }),
      { created_user: false, added_user: false },
    ],
    [
      'another access',
      (userId) => admin.addApplicationUser({ applicationId: elsewhere.id, userId }),
      { created_user: false, added_user: true },
    ],
    ['a name', (userId) => admin.updateUser({ userId, name: 'Ada' }), { created_user: false, added_user: true }],
    ['nothing new', (userId) => admin.updateUser({ userId, externalId: '' }).catch(() => {}), both],
    [
      'an access to an application that is gone',
      async (userId) => {
        const { id: applicationId } = await createInviter();
        await admin.deleteApplication({ applicationId });
        await admin.addApplicationUser({ applicationId, userId }).catch(() => {});
      },
      both,
    ],
    [
      'the same to somebody else',
      async () => {
        const { id: userId } = await createTestUser(service);
        await admin.addApplicationUser({ applicationId: here.id, userId });
        await admin.updateUser({ userId, name: 'Ada' });
      },
      both,
    ],
  ])('%s', async (_, give, after) => {
    const { id } = await createStranger();
    await insertAdded(id);
    await insertInvitation(id, { created_at: at(-2 * DAY), accepted_at: CREATED });
    await insertInvitation(id, both);
    await give(id);
    expect(await invitationsOf(id)).toMatchObject([{ created_user: false, added_user: false }, after]);
  });

  test('and a removal ends the open invitation of the user to this application', async () => {
    const [{ id }, { id: other }] = [await createStranger(), await createStranger()];
    for (const userId of [id, other])
      for (const of of [here, elsewhere]) {
        await insertAdded(userId, of);
        await insertInvitation(userId, { application_id: of.id });
      }
    await insertInvitation(id, { accepted_at: CREATED });
    await admin.removeApplicationUser({ applicationId: here.id, userId: id });
    const ended = await sql`
      select user_id, application_id, accepted_at from invitations where expires_at <> ${LATER} and user_id = any(${[id, other]})`;
    expect(ended).toEqual([{ user_id: id, application_id: here.id, accepted_at: null }]);
  });
});
