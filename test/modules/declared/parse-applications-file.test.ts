/** What makes a file invalid. Errors name the entry and the field, and quote no value. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLIENT_ID } from '../../../src/domain/applications/resource.ts';
import { parseApplicationsFile } from '../../../src/modules/declared/parse-applications-file.ts';
import { fileOf, GRAFANA, newDeclaredKey } from '../../support/declared-fixture.ts';
import { createDirectory } from '../../support/directory.ts';
import { png } from '../../support/images.ts';

const AT = 'applications[0] (grafana)';
const { key } = newDeclaredKey('first');
const other = { ...newDeclaredKey('other').key };
const parse = (text: string) => parseApplicationsFile(text, '/nowhere/file', (name) => name === 'email');
const argo = { ...GRAFANA, clientId: 'argo-cd' };

const INVALID: readonly (readonly [title: string, text: string, message: string])[] = [
  ['no JSON', '{', 'must hold JSON'],
  ['an empty file', '', 'must hold JSON'],
  ['a list', '[]', 'must be an object'],
  ['more than 1 MiB', `{"groups":[]${' '.repeat(1_024 * 1_024)}}`, 'must have at most 1 MiB'],
  ['a name twice', '{"groups":[],"groups":[]}', 'must not have a field twice'],
  ['an unknown field', '{"users":[]}', '"users" is no field'],
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

test('an entry that ends keeps its other fields without effect', () => {
  const [entry] = parse(fileOf({ ...GRAFANA, name: 7, deleted: true })).applications;
  expect(entry).toMatchObject({ fate: 'deleted', keys: [], access: [] });
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
