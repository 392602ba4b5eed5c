/** Exports of other products become lines that the import takes. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDirectory } from '../../support/directory.ts';
import { runShell } from '../../support/process.ts';
import { ADMIN_KEY, adminClient, startTestService } from '../../support/service.ts';
import { convertUsers } from './convert-users.ts';

const secrets = { clientId: 'c', clientSecret: 's', trustEmail: false, emailDomains: [] };
const loginProviders = [
  { id: 'google', name: 'Google', type: 'openid', issuer: 'https://accounts.google.com', ...secrets },
  { id: 'github', name: 'GitHub', type: 'github', issuer: 'https://github.com/login/oauth', ...secrets },
] as const;
const service = await startTestService({ config: { loginProviders } });
afterAll(service.close);
beforeAll(async () => {
  await adminClient(service).createGroup({ name: 'editors' });
});

const pathOf = (fixture: string) => join(import.meta.dirname, 'fixtures', fixture);

async function convert(product: string, path: string) {
  let report = '';
  const lines: string[] = [];
  for await (const line of convertUsers(product, path, (text) => {
    report = text;
  }))
    lines.push(line);
  return { lines, report };
}

const [google, github] = [
  { provider: 'google', subject: '104012345678901234567' },
  { provider: 'github', subject: '583231' },
];
const ada = { email: 'ada@example.com', emailVerified: true, createdAt: '2021-03-01T09:00:00.123Z', isActive: true };

test.each([
  [
    'auth0',
    'auth0.jsonl',
    [
      {
        ...ada,
        externalId: 'auth0|5f7c8ec7c33c6c004bbafe82',
        attributes: { plan: 'pro', seat_count: 3 },
        identities: [google],
      },
      { email: 'grace@example.com', name: 'Grace Hopper', isActive: false, identities: [github] },
      { email: 'mallory@example.com', name: 'Mallory\u2028M', emailVerified: false, identities: [] },
    ],
    'users converted: 3, left out: attributes: 2, identities of other providers: 1, ' +
      'identities of users whose address is not verified: 1, passwords: 1, phone numbers: 1, second factors: 1, ' +
      'user metadata: 1, users without a valid address: 1',
  ],
  [
    'auth0',
    'auth0-extension.jsonl',
    [
      { ...ada, externalId: 'google-oauth2|104012345678901234567', name: 'Ada Lovelace', identities: [google] },
      { email: 'grace@example.com', name: 'Grace Hopper', emailVerified: false, identities: [] },
    ],
    'users converted: 2, left out: dates: 1, field favourite: 1, passwords: 1, users without a valid address: 1',
  ],
  [
    'auth0',
    'auth0.csv',
    [
      {
        ...ada,
        externalId: 'auth0|5f7c8ec7c33c6c004bbaf003',
        name: 'Ada "Countess" Lovelace',
        attributes: { plan: 'pro' },
      },
      { email: 'grace@example.com', isActive: false, identities: [{ provider: 'github', subject: '600001' }] },
    ],
    'users converted: 2, left out: passwords: 1',
  ],
  ['auth0', 'auth0-page.json', [{ ...ada, name: 'Ada Lovelace', identities: [google] }], 'users converted: 1'],
  [
    'keycloak',
    'keycloak.json',
    [
      {
        ...ada,
        externalId: '0b6f8a0e-3c1d-4d8e-9f59-6f2f3c1f0001',
        name: 'Ada Lovelace',
        attributes: { plan: 'pro', teams: ['a', 'b'] },
        groups: ['editors'],
        identities: [google],
        totpSecret: 'MJFGE6KNM5EHAVTCIZHG4VDDKNXDKYTL',
      },
      { email: 'grace@example.com', emailVerified: false, isActive: false },
    ],
    'users converted: 2, left out: TOTP: 1, attributes: 1, field federationLink: 1, groups: 1, identities of other providers: 1, ' +
      'passkeys: 1, passwords: 1, phone numbers: 1, required actions: 2, roles: 3, service accounts: 1, user names: 3, ' +
      'users without a valid address: 1',
  ],
  [
    'supabase',
    'supabase.csv',
    [
      {
        ...ada,
        externalId: '7d1c7a52-9b3f-4f57-8f0b-2d8f6e5a0001',
        name: 'Ada, Countess of Lovelace',
        attributes: { plan: 'pro' },
        identities: [google],
      },
    ],
    'users converted: 1, left out: deleted users: 1, passwords: 1, phone numbers: 1, user metadata: 1, ' +
      'users without a valid address: 1',
  ],
  [
    'supabase',
    'supabase.json',
    [{ email: 'grace@example.com', name: 'Grace', emailVerified: true, isActive: false, identities: [github] }],
    'users converted: 1, left out: identities of other providers: 1, user metadata: 1',
  ],
  [
    'supabase',
    'supabase-admin.json',
    [
      {
        ...ada,
        externalId: '8d1c7a52-9b3f-4f57-8f0b-2d8f6e5a0001',
        name: 'Ada Lovelace',
        attributes: { plan: 'pro' },
        identities: [google],
      },
    ],
    'users converted: 1, left out: roles: 1, second factors: 1, user metadata: 1',
  ],
  [
    'firebase',
    'firebase-admin.json',
    [
      {
        ...ada,
        externalId: '3hGkqN8cVxYp0nZb1kQ3sT5uW7y1',
        createdAt: '2021-03-01T09:00:00.000Z',
        name: 'Ada Lovelace',
        profileImage: 'https://lh3.googleusercontent.com/a/ada=s96-c',
        attributes: { plan: 'pro', stripe_role: 'gold' },
        identities: [google],
      },
      { email: 'grace@example.com', emailVerified: false, isActive: false },
    ],
    'users converted: 2, left out: field tenantId: 1, identities of other providers: 1, passwords: 1, ' +
      'phone numbers: 1, second factors: 1',
  ],
  [
    'firebase',
    'firebase.json',
    [
      {
        ...ada,
        externalId: '2hGkqN8cVxYp0nZb1kQ3sT5uW7y1',
        name: 'Ada Lovelace',
        profileImage: 'https://lh3.googleusercontent.com/a/ada=s96-c',
        attributes: { plan: 'pro', stripe_role: 'gold' },
        identities: [google],
      },
      { email: 'grace@example.com', emailVerified: false, isActive: false },
    ],
    'users converted: 2, left out: identities of other providers: 1, passwords: 1, phone numbers: 1, ' +
      'second factors: 1, users without a valid address: 1',
  ],
  [
    'clerk',
    'clerk.csv',
    [
      {
        ...{ externalId: 'user_2ZJ3kFv0000000000000000001', email: ada.email, emailVerified: true },
        ...{ name: 'Ada Lovelace', totpSecret: 'JBSWY3DPEHPK3PXP' },
      },
      { email: 'grace@example.com', emailVerified: false },
    ],
    'users converted: 2, left out: further addresses: 1, passwords: 1, phone numbers: 2, user names: 2, ' +
      'users without a valid address: 1',
  ],
])('an export of %s becomes lines that are imported: %s', async (product, fixture, users, counts) => {
  const { lines, report } = await convert(product, pathOf(fixture));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject(users);
  expect(report).toBe(counts);
  // All fixtures have the same people.
  const body = lines
    .join('')
    .replaceAll('@example.com', `@${fixture}.example`)
    .replaceAll('"subject":"', `"subject":"${fixture}-`);
  const init = { method: 'POST', headers: { 'x-admin-key': ADMIN_KEY }, body };
  const response = await fetch(`${service.url}/admin/users.jsonl`, init);
  const answers = (await response.text()).trim().split('\n');
  expect(answers.map((answer) => JSON.parse(answer))).toEqual(
    users.map((_, at) => expect.objectContaining({ line: at + 1, status: 'created' })),
  );
});

test.each([
  ['auth0', '{"email":"ada@example.com"}\n[\n', 'Line 2 of the file is no JSON object'],
  [
    'auth0',
    '{"surname":"Lovelace"}',
    'The file has no user to convert, left out: field surname: 1, users without a valid address: 1',
  ],
  ['auth0', '', 'The file is empty'],
  ['auth0', '[]', 'The file has no user to convert'],
  ['auth0', '{"start":0,"users":[]}', 'The file has no user to convert'],
  ['firebase', '{"users":[]}', 'The file has no user to convert'],
  [
    'keycloak',
    '[{"username":"ada"}]',
    'The file has no user to convert, left out: user names: 1, users without a valid address: 1',
  ],
  ['firebase', '{"users":[', 'The file is no JSON with a list of users'],
  ['keycloak', '{"realm":"shop"}', 'The file is no JSON with a list of users'],
  ['supabase', 'id,email\n1,ada@example.com\n', 'The CSV has no column email_confirmed_at'],
  ['clerk', 'id,primary_email_address\n1,"ada@example.com\n', 'A quote in the CSV does not end'],
  ['clerk', '', 'The file is empty'],
  [
    'constructor',
    '',
    'Usage: node src/run.js test/examples/convert-users/main.ts auth0|keycloak|supabase|firebase|clerk <file>',
  ],
])('%s of %j is refused in one line', async (product, content, message) => {
  const path = join(await createDirectory(), 'export');
  await writeFile(path, content);
  await expect(convert(product, path)).rejects.toThrow(message);
});

test('the script writes lines to standard output, and counts without values to standard error', async () => {
  const run = (file: string) => runShell(`node src/run.js test/examples/convert-users/main.ts clerk ${file}`);
  const { exitCode, stdout, stderr } = await run(pathOf('clerk.csv'));
  expect({ exitCode, lines: stdout.trim().split('\n').length }).toEqual({ exitCode: 0, lines: 2 });
  expect(stderr).toMatch(/^users converted: 2, left out: [\w :,]+\n$/);
  expect(await run('missing.csv')).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/^.*no such file.*\n$/),
  });
});
