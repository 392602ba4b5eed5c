/** Modules add actions to the account page, and to nothing where there is none. */
import { expect, test } from 'vitest';
import { collectOffers } from '../../src/modules/open-modules.ts';
import { testConfig } from '../support/service.ts';

const config = testConfig('postgres://nobody@127.0.0.1/none');
const { encryptionKeys = [], oidcSigningKeys = [] } = config.secrets;
const offers = collectOffers(config, {
  authPageUrl: 'https://usher.test/login',
  publicUrl: 'https://usher.test',
  secrets: { encryptionKeys, oidcSigningKeys },
});
const others = [...offers].filter(([name, { pages }]) => name !== 'account' && pages?.createActions);

test.each(others)('%s', (_, { pages }) => {
  const paths = pages?.createActions?.(undefined, []).map(({ path }) => path);
  expect(paths?.filter((path) => path.startsWith('/account'))).toEqual([]);
});
