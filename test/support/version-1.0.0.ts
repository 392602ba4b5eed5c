/** A database of version 1.0.0, with rows in its tables and the secrets that belong to them. */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FullConfig } from '../../src/modules/modules.ts';
import { createDatabase, type TestDatabase } from './database.ts';
import { SoftwarePasskey } from './passkey.ts';
import { createSecretFiles, testConfig } from './service.ts';

/** Written by `pg_dump`, after the calls and forms of a small application. */
const DUMP = new URL('version-1.0.0.sql', import.meta.url);

/** When the dump was written, by the clock of the rows. */
export const WRITTEN_AT = new Date('2026-11-24T02:00:00.003Z');

export const SHOP = {
  id: 'a13c0ee5-e757-4d25-a4f9-91d362fe78d3',
  name: 'Shop',
  clientId: 'client_51391e3f7d29e19ee7f7bd09614fed7f',
  apiKeyId: '9298cf41-841d-47e9-9d0e-07b2143463b0',
  apiKey: 'usk_sT7Q19yRVIUqEjMcWeo7wEwLwqUEXNn7CyCvOPFlvw71xZ90Z',
  eventId: 'dd8a65de-d22d-41c1-bca4-ed8cc0953560',
  webhookId: 'wh_16aeebfaa880bd6d34c282224defa113',
  signingKey: 'whsec_Mq6PUmK5pVoCU/JvO72v53svNzBQYqBwxHsLV7wRhHc=',
};

/** She has signed in by a code in a browser, has a passkey, a session, a grant and a linked account. */
export const ADA = {
  id: '24861179-ea01-42c1-b18a-a5ea1c208a29',
  email: 'Ada@example.com',
  sessionId: '648432aa-9369-402c-867d-f49f53664985',
  refreshToken:
    'urt_AQ0AAAAAoTwO5edXTSWk-ZHTYv540ySGEXnqAULBsYql6hwgiikBohwl26Z55pyuLryZrHsHAAABogtICQEAAAGiDds3AXBhZ2XSojxu6tB9m8rgz0oJPtgLtib7y52N2gn2TjFeLnmCcg',
  cookie:
    '__Host-usher=0hzg0oDOVDyY2KXM6XbJFNNrLpjfiEdc1dvLo_rfTPU; usher-email=Ada@example.com; __Host-usher-sso=jZOab-X9cMKAYB81bR7I-PICc04ZZ2QmvCaXMArrjCA',
};

/** She has been asked for a code. */
export const GRACE = {
  cookie: '__Host-usher=EGZrZXIDeL4hVJBKgSW6fDH7BqmFF-qkvE9Dtm0fx2g; usher-email=grace@example.com',
  form: {
    intent: '01a21c25-e01b-7ae1-b56a-97a9e3ccad1d',
    client_id: SHOP.clientId,
    token: 'smrqE3lP9C7565lS5ujV0B8PH_aDLJXcxR7ZfknFGxw',
    passkey: '',
    email: 'grace@example.com',
    digits: '6',
    code: '030012',
  },
};

/** The session of a user whose sessions were revoked. */
export const ENDED_SESSION_ID = '8aeaa959-07dc-4329-96bb-83e0df9f1cca';
export const DEACTIVATED_USER_ID = '98d1a49e-1504-460c-ad3c-51680588ad90';

export function openPasskeyOfAda(): SoftwarePasskey {
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: '-5G0L5vCUSkB5cLsMVY90yvYlU5oeiEUiuxDp3j4x1w',
    y: 'LwV0Z7AbSCbwhiu1sqcJe6UTDXfpfUCyZbA5sTREycM',
    d: 'tLj1SzUdi6eiUBev3y7o0RoozFt3gXt78ftlmb-6MSk',
  };
  const privateKey = createPrivateKey({ key: jwk, format: 'jwk' });
  const keyPair = { privateKey, publicKey: createPublicKey({ key: jwk, format: 'jwk' }) };
  const passkey = new SoftwarePasskey({ keyPair, id: Buffer.from('AWQJh6Spw5JGuJA8nFtKRZ_VOm8', 'base64url') });
  passkey.userHandle = 'JIYReeoBQsGxiqXqHCCKKQ';
  return passkey;
}

/** Returns a configuration with the key that the dump was encrypted with. */
export function configOfRelease(databaseUrl: string): FullConfig {
  return testConfig(
    databaseUrl,
    {},
    { ...createSecretFiles(), 'encryption-key': Buffer.alloc(32, 1).toString('base64') },
  );
}

/** Creates a database with the dump. Disposal drops it. */
export async function createReleasedDatabase(): Promise<TestDatabase> {
  const database = await createDatabase('');
  await fillReleasedDatabase(database);
  return database;
}

export async function fillReleasedDatabase({ sql }: Pick<TestDatabase, 'sql'>): Promise<void> {
  await sql.unsafe(await readFile(DUMP, 'utf8'));
}
