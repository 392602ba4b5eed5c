/** The settings of products for OpenID Connect. `npm run generate` reads them from the page. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import openIdClients from '../../gen/openid-clients.json' with { type: 'json' };
import { OPENID_GUIDE } from '../../src/reference/docs/openid-guide.ts';
import { REPOSITORY } from '../support/process.ts';

test('/docs shows the settings of all products on the page of OpenID Connect', async () => {
  const page = await readFile(join(REPOSITORY, 'src/modules/oidc/endpoints/README.md'), 'utf8');
  const names = [...page.matchAll(/^### (.+)$/gm)].map(([, name]) => name);
  expect(names).toHaveLength(10);
  expect(openIdClients.map(({ name }) => name)).toEqual(names);
  for (const { name, source } of openIdClients) {
    expect(OPENID_GUIDE.text).toContain(`<summary>${name} (${source})</summary>`);
  }
});
