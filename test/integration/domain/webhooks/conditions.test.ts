/** Conditions of the statements about webhooks, a row each. What callers see: test/contract/webhooks.test.ts. */
import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { createWebhook } from '../../../../src/domain/webhooks/create-webhook.ts';
import { deleteWebhook } from '../../../../src/domain/webhooks/delete-webhook.ts';
import { getDelivery } from '../../../../src/domain/webhooks/get-delivery.ts';
import { getWebhook } from '../../../../src/domain/webhooks/get-webhook.ts';
import { listDeliveries } from '../../../../src/domain/webhooks/list-deliveries.ts';
import { listWebhooks } from '../../../../src/domain/webhooks/list-webhooks.ts';
import { rotateSigningKey } from '../../../../src/domain/webhooks/rotate-signing-key.ts';
import { readWebhookVersion, updateWebhook } from '../../../../src/domain/webhooks/update-webhook.ts';
import { at, DAY, HOUR, NOW, reason } from '../../../support/domain-scene.ts';
import { HOOK_URL, openWebhooks } from '../../../support/webhook-scene.ts';

const {
  sql,
  callAt,
  callOf,
  readTold,
  createApplication,
  addOwner,
  cipher,
  parts,
  tokens,
  call,
  set,
  setElsewhere,
  readQueue,
  deliver,
  readIds,
} = await openWebhooks();
type Columns = Readonly<Record<string, unknown>>;

let here: string;
let elsewhere: string;
let ownerId: string;
let webhookId: string;
let another: string;
beforeEach(() => {
  ({ here, elsewhere, ownerId, webhookId, another } = readIds());
});

describe('a new webhook has an owner', () => {
  const create = (fields: Columns) =>
    reason(
      createWebhook(call(), { ...parts, webhooksPerApplication: 3 }, { url: HOOK_URL, eventTypes: ['*'], ...fields }),
    );

  test.each<[string, find: () => Promise<string>, answer: string]>([
    ['who is a user of the application', () => addOwner(), 'done'],
    ['who is not deleted', () => addOwner({ deleted_at: NOW }), 'USER_NOT_FOUND'],
    [
      'who is no user of another application alone',
      async () => addOwner({}, await createApplication()),
      'USER_NOT_FOUND',
    ],
  ])('%s', async (_, find, answer) => {
    const fields = { url: HOOK_URL, ownerId: await find(), eventTypes: ['*'] };
    expect(await create(fields)).toBe(answer);
    expect(await reason(updateWebhook(call(), parts, { webhookId, ownerId: fields.ownerId }))).toBe(answer);
    const owners = await sql`select owner_id from webhooks where application_id = ${here} and id = ${webhookId}`;
    expect(owners).toEqual([{ owner_id: answer === 'done' ? fields.ownerId : ownerId }]);
  });

  test.each<[string, fields: () => Columns, violation: string]>([
    ['who is named', () => ({}), 'ownerId is required: the ID of a user, as ExchangeToken and ListUsers return it'],
    [
      'who is not empty',
      () => ({ ownerId: '' }),
      'ownerId is required: the ID of a user, as ExchangeToken and ListUsers return it',
    ],
    ['whose ID is a UUID', () => ({ ownerId: 'ada' }), 'ownerId must be a UUID'],
    ['and a public address', () => ({ ownerId, url: 'https://127.0.0.1/' }), 'url must have a public address'],
  ])('%s', async (_, fields, violation) => {
    const given = { url: HOOK_URL, eventTypes: ['*'], ...fields() };
    const refused = createWebhook(call(), { ...parts, webhooksPerApplication: 3 }, given);
    const [field, ...words] = violation.split(' ');
    await expect(refused).rejects.toMatchObject({ violations: [{ field, message: words.join(' ') }] });
  });

  test('who may have gone since, while others are changed', async () => {
    await set('webhooks', { owner_id: await addOwner({ deleted_at: NOW }) });
    expect(await reason(updateWebhook(call(), parts, { webhookId, description: 'New' }))).toBe('done');
  });
});

describe('an update', () => {
  const FAILING = { failed_batches: 2, failing_since: at(-HOUR), next_at: at(HOUR), wake_count: 5 };
  const FRESH = { failed_batches: 0, failing_since: null, next_at: NOW, wake_count: '6' };
  const KEPT = { ...FAILING, wake_count: '5' };
  const DISABLED = { is_active: false, disabled_reason: 'failing' };
  const lease = randomUUID();

  test.each<[string, before: Columns, queue: Columns, given: Columns, after: Columns, isChanged: boolean]>([
    ['to what is there changes nothing', {}, {}, { url: HOOK_URL, isActive: true }, KEPT, false],
    ['of the description leaves the queue', {}, {}, { description: 'New' }, KEPT, true],
    ['of the HOOK_URL tries at once', {}, {}, { url: `${HOOK_URL}/new` }, FRESH, true],
    [
      'of the HOOK_URL waits for who delivers',
      {},
      { lease },
      { url: `${HOOK_URL}/new` },
      { ...FRESH, next_at: at(HOUR), lease },
      true,
    ],
    ['to inactive tries no more', {}, {}, { isActive: false }, { ...FRESH, next_at: null }, true],
    [
      'of the HOOK_URL of an inactive one tries nothing',
      DISABLED,
      {},
      { url: `${HOOK_URL}/new` },
      { ...FRESH, next_at: null },
      true,
    ],
    ['to active again tries at once', DISABLED, {}, { isActive: true }, FRESH, true],
    ['to inactive, as Usher has done, is an update', DISABLED, {}, { isActive: false }, KEPT, true],
  ])('%s', async (_, before, queue, given, after, isChanged) => {
    await set('webhooks', { is_active: true, ...before });
    for (const of of [webhookId, another]) await set('webhook_queues', { ...FAILING, ...queue }, of);
    const updated = await updateWebhook(call(), parts, { webhookId, ...given });
    expect(await readQueue()).toMatchObject(after);
    expect(await readQueue(another)).toMatchObject({ ...KEPT, ...queue });
    expect([updated.updatedAt, updated.owner.id]).toEqual([isChanged ? NOW : at(-DAY), ownerId]);
    expect(readTold()).toEqual([here]);
    expect(updated.disabledReason).toBe('isActive' in given ? null : (before.disabled_reason ?? null));
    const rows =
      await sql`select id, url, updated_at from webhooks where application_id = ${here} order by id = ${another}`;
    expect(rows).toEqual([
      { id: webhookId, url: given.url ?? HOOK_URL, updated_at: updated.updatedAt },
      { id: another, url: HOOK_URL, updated_at: at(-DAY) },
    ]);
    const audit = await sql`select resource from audit_events where application_id = ${here}`;
    expect(audit).toEqual(isChanged ? [{ resource: webhookId }] : []);
  });
});

test('a deletion leaves the queue and the keys of the others', async () => {
  await deliver(1);
  await deleteWebhook(call(), { webhookId });
  for (const table of ['webhooks', 'webhook_queues', 'webhook_signing_keys']) {
    const column = table === 'webhooks' ? 'id' : 'webhook_id';
    expect(await sql`select ${sql(column)} as id from ${sql(table)} where application_id = ${here}`).toEqual([
      { id: another },
    ]);
  }
  const calls = [
    () => deleteWebhook(call(), { webhookId }),
    () => updateWebhook(call(), parts, { webhookId, description: 'New' }),
    () => getDelivery(call(), { webhookId, messageId: 'msg_1' }),
    () => listDeliveries(call(), tokens, { webhookId }),
  ];
  for (const each of calls) expect(await reason(each())).toBe('WEBHOOK_NOT_FOUND');
});

test('an application reads its own webhooks', async () => {
  const { rows } = await listWebhooks(call(), tokens, {});
  const own = [webhookId, another].toSorted().map((id) => [id, HOOK_URL, ownerId]);
  expect(rows.map(({ id, url, owner }) => [id, url, owner.id]).toSorted()).toEqual(own);
  for (const [of, url] of [
    [here, HOOK_URL],
    [elsewhere, `${HOOK_URL}/elsewhere`],
  ] as const)
    expect(await getWebhook(callOf(of), cipher, { webhookId })).toMatchObject({ url, signingKey: 'whsec_' });
});

test('an update of another version changes nothing', async () => {
  await set('webhooks', { description: 'Another' }, another);
  const versions = [
    await readWebhookVersion(call(), { webhookId }),
    await readWebhookVersion(call(), { webhookId: another }),
    await readWebhookVersion(callOf(elsewhere), { webhookId }),
  ];
  expect(new Set(versions).size).toBe(3);
  const update = (description: string) =>
    reason(updateWebhook({ ...call(), ifVersion: versions[0] }, parts, { webhookId, description }));
  expect([await update('New'), await update('Newer')]).toEqual(['done', 'CHANGED_MEANWHILE']);
  const rows = await sql`select description from webhooks where application_id = ${here} order by id = ${another}`;
  expect(rows.map(({ description }) => description)).toEqual(['New', 'Another']);
});

describe('a new signing key', () => {
  const keysOf = (of: string) => sql`
    select signing_key, expires_at from webhook_signing_keys where webhook_id = ${of} and application_id = ${here}`;
  const readKey = async (of = webhookId) =>
    (await sql`select signing_key from webhooks where id = ${of} and application_id = ${here}`)[0]?.signing_key;

  test.each<[string, given: Columns, left: number]>([
    ['keeps the one that came meanwhile', {}, 2],
    ['ends all others without an overlap', { overlapSeconds: 0 }, 0],
  ])('%s', async (_, given, left) => {
    const before = await readKey(another);
    const meanwhile = cipher.encrypt('whsec_meanwhile', { applicationId: here, id: webhookId });
    const rotating = callOf(
      here,
      {},
      callAt(NOW, () => set('webhooks', { signing_key: meanwhile })),
    );
    const { signingKey, updatedAt, owner } = await rotateSigningKey(rotating, cipher, { webhookId, ...given });
    expect(owner.id).toBe(ownerId);
    expect(cipher.decrypt(await readKey(), { applicationId: here, id: webhookId })).toBe(signingKey);
    expect(updatedAt).toEqual(NOW);
    const kept = await keysOf(webhookId);
    expect(kept).toHaveLength(left);
    if (left > 0) expect(kept).toContainEqual({ signing_key: meanwhile, expires_at: at(DAY) });
    expect([await readKey(another), (await keysOf(another)).length]).toEqual([before, 1]);
  });

  test('is one of three at most', async () => {
    const rotate = () => reason(rotateSigningKey(call(), cipher, { webhookId }));
    expect([await rotate(), await rotate()]).toEqual(['done', 'TOO_MANY_SIGNING_KEYS']);
  });

  test('is that of one webhook, even if others have the same one from a restore', async () => {
    const same = await readKey();
    await set('webhooks', { signing_key: same }, another);
    await setElsewhere(same);
    await rotateSigningKey(call(), cipher, { webhookId });
    expect(await readKey(another)).toEqual(same);
    expect(await readKey()).not.toEqual(same);
  });

  test('that is not stored ends no other one', async () => {
    const { run, ...rest } = callAt(NOW, () => set('webhooks', { signing_key: randomBytes(40) }));
    let runs = 0;
    const failing: typeof run = async (...given) => {
      if (++runs > 2) throw new Error('gone');
      return run(...given);
    };
    const rotating = rotateSigningKey(callOf(here, {}, { ...rest, run: failing }), cipher, {
      webhookId,
      overlapSeconds: 0,
    });
    await expect(rotating).rejects.toThrow('gone');
    expect(await keysOf(webhookId)).toHaveLength(1);
  });
});
