/** What a check says of keys that the running Usher publishes, and those of a file. */
import { expect, test } from 'vitest';
import { comparePublished } from '../../src/modules/check.ts';

const PATH = '/.well-known/jwks.json';
const keysOf = (...kids: string[]) => kids.map((kid) => ({ kid, kty: 'OKP' }));

test.each<[what: string, own: string[], published: string[] | undefined, findings: object[]]>([
  ['a file without keys', [], ['a'], []],
  ['no Usher that runs', ['a'], undefined, []],
  ['the same keys', ['b', 'a'], ['a', 'b'], [{ level: 'ok', what: `${PATH} publishes a, b` }]],
  [
    'other keys',
    ['a'],
    ['a', 'b'],
    [
      {
        level: 'failure',
        what: `${PATH} publishes a, b, and the file has a`,
        why: expect.stringContaining('Give every'),
      },
    ],
  ],
  ['no published key', ['a'], [], [{ level: 'failure', what: `${PATH} publishes no key, and the file has a` }]],
])('%s', async (_, own, published, findings) => {
  const readKeySet = async () => published && keysOf(...published);
  expect(await comparePublished({ readKeySet }, PATH, keysOf(...own))).toMatchObject(findings);
});

test('a check of a file without keys finds nothing, and asks nobody', async () => {
  expect(await comparePublished({ readKeySet: () => Promise.reject(new Error('asked')) }, PATH)).toEqual([]);
});
