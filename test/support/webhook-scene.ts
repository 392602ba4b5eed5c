/** Webhooks of an application, and those of the same IDs elsewhere, for tests of each condition. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect } from 'vitest';
import { RowCipher } from '../../src/domain/crypto/aes-gcm.ts';
import { PageTokens } from '../../src/domain/pages/list.ts';
import { AddressPolicy } from '../../src/domain/webhooks/address-policy.ts';
import { at, DAY, openDomain } from './domain-scene.ts';

export const HOOK_URL = 'https://hooks.test';

type Columns = Readonly<Record<string, unknown>>;

/** Opens an empty database until the tests of the file have ended. Each test has webhooks of its own. */
export async function openWebhooks() {
  const { sql, insert, callAt, callOf, readTold, createApplication, createUser } = await openDomain();
  const cipher = new RowCipher([randomBytes(32)]);
  const ids = {
    here: '',
    /** Has webhooks, messages and deliveries of the same IDs, as after a restore from the data of another one. */
    elsewhere: '',
    ownerId: '',
    webhookId: '',
    /** Another webhook of the application. */
    another: '',
  };

  /** Inserts a webhook with a queue and an earlier key. */
  const addWebhook = async (id: string, applicationId: string, columns: Columns = {}) => {
    const signing_key = cipher.encrypt('whsec_', { applicationId, id });
    const row = { application_id: applicationId, id, url: HOOK_URL, owner_id: ids.ownerId, signing_key };
    await insert('webhooks', { ...row, ...columns });
    await insert('webhook_queues', { application_id: applicationId, webhook_id: id });
    await insert('webhook_signing_keys', { application_id: applicationId, webhook_id: id });
  };
  const addOwner = async (columns: Columns = {}, applicationId = ids.here) => {
    const userId = await createUser(columns);
    await insert('application_users', { application_id: applicationId, user_id: userId });
    return userId;
  };
  const readElsewhere = async () => [
    await sql`select * from webhooks where application_id = ${ids.elsewhere} order by id`,
    await sql`select * from webhook_queues where application_id = ${ids.elsewhere} order by webhook_id`,
    await sql`select * from webhook_signing_keys where application_id = ${ids.elsewhere} order by webhook_id`,
  ];
  let before: unknown;

  beforeEach(async () => {
    ids.elsewhere = await createApplication();
    ids.here = await createApplication();
    await createUser();
    ids.ownerId = await addOwner();
    ids.webhookId = `wh_${randomBytes(16).toString('hex')}`;
    ids.another = `wh_${randomBytes(16).toString('hex')}`;
    for (const id of [ids.webhookId, ids.another]) {
      await addWebhook(id, ids.elsewhere, { url: `${HOOK_URL}/elsewhere` });
      await addWebhook(id, ids.here);
    }
    before = await readElsewhere();
    readTold();
  });

  afterEach(async () => {
    expect(await readElsewhere()).toEqual(before);
    const delivered = await sql`select from webhook_deliveries where application_id = ${ids.elsewhere} and is_manual`;
    expect(delivered).toEqual([]);
  });

  return {
    ...{ sql, callAt, callOf, readTold, createApplication, addOwner, cipher },
    ...{ parts: { cipher, policy: new AddressPolicy([]) }, tokens: new PageTokens([randomBytes(32)]) },
    /** Returns the IDs of the test. */
    readIds: () => ids,
    call: () => callOf(ids.here),
    set: (table: string, columns: Columns, of = ids.webhookId) => sql`
      update ${sql(table)} set ${sql(columns as never)}
      where ${sql(table === 'webhooks' ? 'id' : 'webhook_id')} = ${of} and application_id = ${ids.here}`,
    /** Gives the webhooks elsewhere a signing key. */
    setElsewhere: async (signing_key: Buffer) => {
      await sql`update webhooks set signing_key = ${signing_key} where application_id = ${ids.elsewhere}`;
      before = await readElsewhere();
    },
    readQueue: async (of = ids.webhookId) =>
      (await sql`select * from webhook_queues where webhook_id = ${of} and application_id = ${ids.here}`)[0],
    /** Inserts the delivery, and one of the same IDs elsewhere. */
    deliver: async (message_id: number, columns: Columns = {}) => {
      const row = { webhook_id: ids.webhookId, message_id, ...columns };
      const other = { application_id: ids.elsewhere, due_at: at(9 * DAY), is_manual: false };
      await insert('webhook_deliveries', { ...row, ...other });
      await insert('webhook_deliveries', { application_id: ids.here, ...row });
    },
    readDeliveries: (columns: readonly string[]) => sql`
      select ${sql(columns as string[])} from webhook_deliveries where application_id = ${ids.here}
      order by webhook_id = ${ids.another}, message_id`,
  };
}
