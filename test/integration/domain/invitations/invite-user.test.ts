/** Conditions of the statements by which applications and operators invite, a row each. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { withAudit } from '../../../../src/domain/audit/audit-event.ts';
import type { Call } from '../../../../src/domain/core/call.ts';
import { inviteUser, inviteUserAsOperator } from '../../../../src/domain/invitations/invite-user.ts';
import { AUDIT, at, CREATED, DAY, LATER, NOW, newEmail, openInvitations } from '../../../support/invitation-scene.ts';
import { holdLock, waitForLockOf } from '../../../support/lock.ts';
import { clientsOf } from '../../../support/service.ts';

const {
  service,
  database,
  sql,
  admin,
  keys,
  callAt,
  callOf,
  createInviter,
  here,
  elsewhere,
  createStranger,
  insertInvitation,
  insertAdded,
  invitationsOf,
  isAdded,
  groups,
} = await openInvitations();
const [KNOWN, NEW, [GONE]] = [groups.slice(0, 1), groups.slice(1, 2), groups.slice(2)];
await sql`update groups set deleted_at = ${CREATED} where id = ${GONE ?? ''}`;

describe('another invitation of a user', () => {
  const RENEWED = at(30 * DAY);
  const kept = { created_at: CREATED, on_behalf_at: CREATED };
  const replaced = { created_at: NOW, on_behalf_at: null, expires_at: RENEWED };

  test.each<[string, before: object, by: 'application' | 'operator', groupIds: string[], after: object]>([
    ['prolongs one that is open', {}, 'application', [], { ...kept, expires_at: RENEWED, group_ids: [] }],
    [
      'prolongs one to groups by an operator',
      { group_ids: KNOWN },
      'operator',
      [],
      { ...kept, group_ids: KNOWN, expires_at: RENEWED },
    ],
    [
      'leaves one to groups by an application',
      { group_ids: KNOWN },
      'application',
      [],
      { ...kept, group_ids: KNOWN, expires_at: LATER },
    ],
    ['gets the groups of the operator', { group_ids: KNOWN }, 'operator', NEW, { ...kept, group_ids: NEW }],
    [
      'replaces one that ends now',
      { group_ids: KNOWN, expires_at: NOW },
      'application',
      [],
      { ...replaced, group_ids: [] },
    ],
    [
      'keeps one that ends then',
      { group_ids: KNOWN, expires_at: at(1) },
      'application',
      [],
      { ...kept, expires_at: at(1) },
    ],
    ['keeps that it has given the access', { added_user: true }, 'application', [], { added_user: true }],
    ['keeps that it has created the user', { created_user: true }, 'application', [], { created_user: true }],
  ])('%s', async (_, before, by, groupIds, after) => {
    const { id, email } = await createStranger();
    await insertAdded(id);
    const invitationId = await insertInvitation(id, { on_behalf_at: CREATED, ...before });
    const invited =
      by === 'operator'
        ? await inviteUserAsOperator(callAt(), keys, { applicationId: here.id, email, groupIds })
        : await inviteUser(callOf(here), keys, { email });
    const rows = await invitationsOf(id);
    expect(rows).toMatchObject([{ email, ...after }]);
    expect(invited.invitationId === invitationId).toBe(!('on_behalf_at' in after) || after.on_behalf_at !== null);
  });

  test.each<[string, boolean, (userId: string) => Promise<unknown>]>([
    ['of nobody who had the access', true, async () => {}],
    ['of somebody whom an operator has let in', false, (id) => insertAdded(id)],
    ['of somebody whose access has gone since the last one', true, (id) => insertInvitation(id)],
    [
      'after an accepted one that has given it',
      true,
      async (id) => {
        await insertAdded(id);
        await insertInvitation(id, { added_user: true, accepted_at: CREATED });
      },
    ],
    [
      'after an accepted one that has not',
      false,
      async (id) => {
        await insertAdded(id);
        await insertInvitation(id, { accepted_at: CREATED });
      },
    ],
    [
      'after one to another application',
      false,
      async (id) => {
        await insertAdded(id);
        await insertInvitation(id, { application_id: elsewhere.id, added_user: true });
      },
    ],
    [
      'after one of another user',
      false,
      async (id) => {
        await insertAdded(id);
        await insertInvitation(randomUUID(), { added_user: true });
      },
    ],
  ])('gives the access or not: %s, %s', async (_, addedUser, prepare) => {
    const { id, email } = await createStranger();
    await prepare(id);
    await inviteUser(callOf(here), keys, { email });
    const [open] = (await invitationsOf(id)).filter(({ accepted_at }) => accepted_at === null);
    expect(open).toMatchObject({ added_user: addedUser, created_user: false });
    expect(await isAdded(id)).toBe(true);
  });

  test('that meets one which is just being stored keeps that this has given the access', async () => {
    const { id, email } = await createStranger();
    const lock = await holdLock(
      service.database,
      `insert into added_users values ('${here.id}', '${id}', now());
       insert into invitations (application_id, id, email, user_id, created_user, added_user, created_at, expires_at)
       values ('${here.id}', gen_random_uuid(), '', '${id}', false, true, now(), now() + interval '1 day')`,
    );
    // In a transaction a statement waits for a lock in one go. Others are sent again, and then see what has changed.
    const inviting = database.transact({ applicationId: here.id, deadline: performance.now() + 60_000 }, (run) =>
      inviteUser(callOf(here, { ...callAt(), run: withAudit(run, AUDIT) }), keys, { email }),
    );
    await waitForLockOf(service.database, inviting);
    await lock.release();
    await inviting;
    expect(await invitationsOf(id)).toMatchObject([{ email, added_user: true }]);
  });

  test.each<[string, object, isNew: boolean]>([
    ['is of the user with the address', {}, false],
    ['is of a new user after a deletion', { deleted_at: CREATED }, true],
  ])('%s', async (_, columns, isNew) => {
    const { id, email } = await createStranger();
    if ('deleted_at' in columns) await sql`update users set ${sql(columns as never)} where id = ${id}`;
    await inviteUser(callOf(here), keys, { email: email.toUpperCase() });
    expect((await invitationsOf(id)).length).toBe(isNew ? 0 : 1);
    const users = await sql`select id from users where lower(email) = ${email}`;
    expect(users).toHaveLength(isNew ? 2 : 1);
  });
});

describe('an application', () => {
  const full = async (columns: (place: number) => object) => {
    const inviter = await createInviter();
    const rows = Array.from({ length: 1_000 }, (_, place) => ({
      ...{ application_id: inviter.id, id: randomUUID(), email: `${place}@full.example`, user_id: randomUUID() },
      ...{ created_user: false, added_user: false, created_at: CREATED, expires_at: LATER, accepted_at: null },
      ...columns(place),
    }));
    await sql`insert into invitations ${sql(rows as never)}`;
    return inviter;
  };

  test.each<[string, (place: number) => object, string]>([
    ['that is full', () => ({}), 'Too many invitations'],
    ['one of whose invitations is accepted', (place) => (place > 0 ? {} : { accepted_at: CREATED }), 'invited'],
    ['one of whose invitations has just expired', (place) => (place > 0 ? {} : { expires_at: NOW }), 'invited'],
    [
      'one of whose invitations is of another one',
      (place) => (place > 0 ? {} : { application_id: here.id }),
      'invited',
    ],
    ['that renews an invitation', (place) => (place > 0 ? {} : { email: 'ADA@full.example' }), 'invited'],
  ])('may have 1,000 open invitations: %s', async (_, columns, expected) => {
    const invited = inviteUser(callOf(await full(columns)), keys, { email: 'ada@full.example' });
    expect(await invited.then(() => 'invited', String)).toContain(expected);
  });

  test.each<[string, string, (applicationId: string) => Promise<unknown>, string[]]>([
    ['is gone', 'Application not found', (applicationId) => admin.deleteApplication({ applicationId }), []],
    ['lacks one of two groups', 'Group not found', async () => {}, [...KNOWN, randomUUID()]],
    ['lacks a group since', 'Group not found', async () => {}, [GONE ?? '', ...KNOWN]],
  ])('%s: %s', async (_, reason, prepare, groupIds) => {
    const { id: applicationId } = await createInviter();
    await prepare(applicationId);
    const invited = inviteUserAsOperator(callAt(), keys, { applicationId, email: newEmail(), groupIds });
    await expect(invited).rejects.toThrow(reason);
  });

  test.each<[string, object, string]>([
    ['no language', { locale: '' }, 'invited'],
    ['a long list of languages', { locale: 'x'.repeat(201) }, 'Validation failed'],
    ['as many groups as there may be', { groupIds: Array(100).fill(KNOWN[0]) }, 'invited'],
    ['a day more than there may be', { expiresInDays: 91 }, 'Validation failed'],
    ['more', { groupIds: Array(101).fill(KNOWN[0]) }, 'Validation failed'],
  ])('names %s', async (_, fields, expected) => {
    const invited = inviteUserAsOperator(callAt(), keys, { applicationId: here.id, email: newEmail(), ...fields });
    expect(await invited.then(() => 'invited', String)).toContain(expected);
  });

  test.each([
    [2, 'invited'],
    [3, 'Service unavailable'],
  ])('tries again, and then gives up, where others create the user meanwhile: %s times', async (times, expected) => {
    const call = callAt();
    let left = times;
    const run: Call['run'] = async (statement, parameters) => {
      if (statement.name === 'insertInvitation' && left-- > 0) return [] as never;
      return call.run(statement, parameters);
    };
    const invited = inviteUser(callOf(here, { ...call, run }), keys, { email: newEmail() });
    expect(await invited.then(() => 'invited', String)).toContain(expected);
  });

  test('wakes what sends e-mails, for the first invitation of a day', async () => {
    let woken = 0;
    const notices = { toLanguage: () => 'en', wake: () => void woken++ };
    const email = newEmail();
    for (let turn = 0; turn < 2; turn++) await inviteUser(callOf(here, { ...callAt(), notices }), keys, { email });
    expect(woken).toBe(1);
  });

  test('leaves no invitation of a user who is erased meanwhile', async () => {
    const { id, email } = await createStranger();
    const call = callAt(NOW, {
      insertInvitation: () => sql`update users set email = '', deleted_at = now() where id = ${id}`,
    });
    await inviteUser(callOf(here, call), keys, { email });
    expect(await invitationsOf(id)).toEqual([]);
  });

  test.each([
    [['xn--bcher-kva', 'bücher'], 0],
    [['bücher', 'xn--bcher-kva'], 1],
    [['bücher'], 0],
  ])('invites the user whose address is spelled best, of %j', async (spellings, best) => {
    const name = randomUUID();
    const users = [];
    for (const host of spellings) users.push(await createStranger(`${name}@${host}.example`));
    await inviteUser(callOf(here), keys, { email: `${name}@BÜCHER.example` });
    expect(await sql`select user_id from invitations where email like ${`${name}%`}`).toEqual([
      { user_id: users[best]?.id },
    ]);
  });

  test('lists and revokes what is open or accepted, whenever it has ended, and not what has expired', async () => {
    const inviter = await createInviter();
    const { users } = clientsOf(service, inviter);
    const ended = { application_id: inviter.id, expires_at: NOW };
    const ids = {
      open: await insertInvitation(randomUUID(), { application_id: inviter.id }),
      accepted: await insertInvitation(randomUUID(), { ...ended, accepted_at: CREATED }),
      expired: await insertInvitation(randomUUID(), ended),
    };
    const listed = (await users.listInvitations({})).invitations.map(({ invitationId }) => invitationId);
    expect(listed.sort()).toEqual([ids.open, ids.accepted].sort());
    await expect(users.revokeInvitation({ invitationId: ids.expired })).rejects.toThrow('Invitation not found');
    for (const invitationId of listed) await users.revokeInvitation({ invitationId });
    expect((await users.listInvitations({})).invitations).toEqual([]);
  });
});
