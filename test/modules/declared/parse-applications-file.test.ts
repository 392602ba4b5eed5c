/** What makes a file invalid. Errors name the entry and the field, and quote no value. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLIENT_ID } from '../../../src/domain/applications/resource.ts';
import { ServiceError } from '../../../src/domain/core/errors.ts';
import {
  deriveApplicationId,
  parseApplicationsFile,
  toFileError,
} from '../../../src/modules/declared/parse-applications-file.ts';
import { fileOf, GRAFANA, newDeclaredKey } from '../../support/declared-fixture.ts';
import { createDirectory } from '../../support/directory.ts';
import { png } from '../../support/images.ts';

const AT = 'applications[0] (grafana)';
const { key } = newDeclaredKey('first');
const other = { ...newDeclaredKey('other').key };
const parse = (text: string) => parseApplicationsFile(text, '/nowhere/file', (name) => name === 'email');
const argo = { ...GRAFANA, clientId: 'argo-cd' };
const old = { ...GRAFANA, clientId: `client_${'0f'.repeat(16)}` };
const ID = '00000000-0000-4000-8000-00000000abcd';

const INVALID: readonly (readonly [title: string, text: string, message: string])[] = [
  ['no JSON', '{', 'must hold JSON'],
  ['an empty file', '', 'must hold JSON'],
  ['a list', '[]', 'must be an object'],
  ['more than 1 MiB', `{"groups":[]${' '.repeat(1_024 * 1_024)}}`, 'must have at most 1 MiB'],
  ['a name twice', '{"groups":[],"groups":[]}', 'must not have a field twice'],
  ['an unknown field', '{"users":[]}', '"users" is no field'],
  ['a revision beyond the largest', '{"revision":2147483648}', 'revision must be 0 to 2147483647'],
  ['a revision that is no number', '{"revision":"1"}', 'revision must be an integer'],
  ['an entry that is no object', '{"applications":[7]}', 'applications[0]: must be an object'],
  ['a group without a name', '{"groups":[{}]}', 'groups[0]: name is required'],
  ['a group twice', '{"groups":[{"name":"a"},{"name":"a"}]}', 'groups[1] (a): name is also that of groups[0] (a)'],
  ['an unknown field of a group', '{"groups":[{"name":"a","members":[]}]}', 'groups[0]: "members" is no field'],
  ['a bad client ID', fileOf({ ...GRAFANA, clientId: 'Grafana' }), 'applications[0]: clientId must be a client ID'],
  [
    'a missing field',
    fileOf({ clientId: 'grafana' }),
    `${AT}: name is required, redirectUris must be a list of 1 to 50`,
  ],
  ['a misspelt field', fileOf({ ...GRAFANA, redirectUri: 'x' }), `${AT}: "redirectUri" is no field`],
  ['a wrong value', fileOf({ ...GRAFANA, askName: 'secret' }), `${AT}: askName must be true or false`],
  [
    'an unknown login method',
    fileOf({ ...GRAFANA, loginMethods: ['fax'] }),
    `${AT}: loginMethods must be methods of Usher or listed providers`,
  ],
  ['an application twice', fileOf(GRAFANA, argo, GRAFANA), `applications[2] (grafana): clientId is also that of ${AT}`],
  [
    'a resource twice',
    fileOf({ ...GRAFANA, resourceUri: 'https://a.test/' }, { ...argo, resourceUri: 'https://a.test' }),
    `applications[1] (argo-cd): resourceUri is also that of ${AT}`,
  ],
  ['another ID', fileOf({ ...GRAFANA, id: '00000000-0000-4000-8000-000000000009' }), `${AT}: id follows from clientId`],
  [
    'an ID of Usher itself',
    fileOf({ ...GRAFANA, clientId: `client_${'0f'.repeat(16)}`, id: '00000000-0000-4000-8000-000000000002' }),
    `applications[0] (client_${'0f'.repeat(16)}): id is one of Usher itself`,
  ],
  [
    'two fates',
    fileOf({ ...GRAFANA, deleted: true, released: true }),
    `${AT}: deleted and released must not both be true`,
  ],
  ['a fate that is no flag', fileOf({ ...GRAFANA, deleted: 'yes' }), `${AT}: deleted must be true or false`],
  [
    'a digest that is none',
    fileOf({ ...GRAFANA, keys: [{ ...key, sha256: 'usk_1' }] }),
    `${AT}: keys[0].sha256 must have 64 hexadecimal digits in lower case`,
  ],
  [
    'a key twice',
    fileOf({ ...GRAFANA, keys: [key] }, { ...argo, keys: [key] }),
    `applications[1] (argo-cd): sha256 of a key is also that of ${AT}`,
  ],
  [
    'the name of a key twice',
    fileOf({ ...GRAFANA, keys: [key, { ...other, name: 'first' }] }),
    `${AT}: keys must have each name once`,
  ],
  [
    'a misspelt field of a key',
    fileOf({ ...GRAFANA, keys: [{ ...key, expireAt: 'x' }] }),
    `${AT}: keys[0]."expireAt" is no field`,
  ],
  ['eleven keys', fileOf({ ...GRAFANA, keys: Array(11).fill(key) }), `${AT}: keys must be a list of 0 to 10`],
  [
    'a misspelt field of access',
    fileOf({ ...GRAFANA, access: [{ group: 'a', allowAccess: true }] }),
    `${AT}: access[0]."allowAccess" is no field`,
  ],
  [
    'a group twice in access',
    fileOf({ ...GRAFANA, access: [{ group: 'a' }, { group: 'a' }] }),
    `${AT}: access must have each group once`,
  ],
  [
    'a logo that is not there',
    fileOf({ ...GRAFANA, logo: 'secret.png' }),
    `${AT}: logo names a file that cannot be read (ENOENT)`,
  ],
  [
    'a logo of more than 100,000 characters',
    fileOf({ ...GRAFANA, logo: `data:image/png;base64,${'A'.repeat(99_979)}` }),
    `${AT}: logo must have 1 to 100000 characters`,
  ],
  [
    'an ID twice',
    fileOf({ ...old, id: ID }, { ...old, clientId: `client_${'0e'.repeat(16)}`, id: ID }),
    `applications[1] (client_${'0e'.repeat(16)}): id is also that of applications[0] (client_${'0f'.repeat(16)})`,
  ],
  [
    'a logo that is no image',
    fileOf({ ...GRAFANA, darkLogo: 'data:image/png;base64,AAAA' }),
    `${AT}: darkLogo must be a whole, still image as PNG, JPEG or WebP`,
  ],
];

test.each(INVALID)('%s', (_, text, message) => {
  expect(() => parse(text)).toThrow(new Error(message));
});

test('a logo is read relative to the file', async () => {
  const directory = await createDirectory();
  await writeFile(join(directory, 'logo.png'), png(2, 2));
  const file = parseApplicationsFile(fileOf({ ...GRAFANA, logo: 'logo.png' }), join(directory, 'applications.json'));
  expect(file.applications[0]?.logos.light).toEqual(png(2, 2));
});

test.each(['deleted', 'released'])('an entry that is %s keeps its other fields without effect', (fate) => {
  const [entry] = parse(fileOf({ ...GRAFANA, name: 7, [fate]: true })).applications;
  expect(entry).toMatchObject({ fate, keys: [], access: [] });
});

test('lists may be empty, a revision large, a file 1 MiB, and an entry may have the ID that it gets anyway', () => {
  const entry = { ...GRAFANA, id: deriveApplicationId('grafana'), keys: [], access: [] };
  const text = JSON.stringify({ revision: 2_147_483_647, groups: [], applications: [entry] });
  const file = parse(text.padEnd(1_024 * 1_024));
  expect(file).toMatchObject({ revision: 2_147_483_647, applications: [{ keys: [], access: [] }] });
});

test('applications of the console need no ID, whose entries have none', () => {
  const { applications } = parse(fileOf(old, { ...old, clientId: `client_${'0e'.repeat(16)}` }));
  expect(applications.map(({ id }) => id)).toEqual([undefined, undefined]);
});

test('access that means nothing is none', () => {
  const access = [{ group: 'a' }, { group: 'b', inClaim: true }, { group: 'c', allowsAccess: true }];
  expect(parse(fileOf({ ...GRAFANA, access })).applications[0]?.access.map(({ group }) => group)).toEqual(['b', 'c']);
});

describe('an error while an entry is applied', () => {
  const violations = [
    { field: 'name', message: 'is required' },
    { field: 'keys', message: 'must be a list' },
  ];

  test.each<[what: string, error: ServiceError, field: string | undefined, message: string]>([
    ['has the entry', new ServiceError('APPLICATION_NOT_FOUND'), undefined, `${AT}: Application not found`],
    [
      'has the fields',
      new ServiceError('VALIDATION_FAILED', { violations }),
      undefined,
      `${AT}: name is required, keys must be a list`,
    ],
    [
      'may name another field',
      new ServiceError('VALIDATION_FAILED', { violations: violations.slice(1) }),
      'logo',
      `${AT}: logo must be a list`,
    ],
  ])('%s', (_, error, field, message) => {
    expect(toFileError(AT, error, field)).toEqual(new Error(message));
  });

  test('stays the same if it is none of the domain', () => {
    const error = new Error('connection lost');
    expect(toFileError(AT, error)).toBe(error);
  });
});

describe('client IDs', () => {
  test.each([
    ['grafana', true],
    ['a1.b_c-d', true],
    ['0ab', true],
    [`client_${'0f'.repeat(16)}`, true],
    ['a'.repeat(64), true],
    ['a'.repeat(65), false],
    ['ab', false],
    ['-ab', false],
    ['Abc', false],
    ['client_mine', false],
    ['usher-account', false],
    ['usher-console', false],
    ['https-app', false],
    ['feed_x', false],
    ['a b c', false],
    ['abc\n', false],
  ])('%j: %s', (text, isValid) => expect(CLIENT_ID.test(text)).toBe(isValid));
});
