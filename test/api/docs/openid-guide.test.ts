/** The settings of products for OpenID Connect. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OPENID_CLIENTS } from '../../../src/api/docs/openid-clients.ts';
import { OPENID_GUIDE } from '../../../src/api/docs/openid-guide.ts';
import { REPOSITORY } from '../../support/process.ts';

test('the page of OpenID Connect and /docs show the settings of the same ten products', async () => {
  const page = await readFile(join(REPOSITORY, 'src/modules/oidc/endpoints/README.md'), 'utf8');
  expect(OPENID_CLIENTS).toHaveLength(10);
  for (const { name, redirectUri, source, settings } of OPENID_CLIENTS) {
    expect(page).toContain(
      `### ${name}\n\nRedirect URI: \`${redirectUri}\` (${source})\n\n\`\`\`\n${settings}\n\`\`\`\n`,
    );
    expect(OPENID_GUIDE.text).toContain(`<summary>${name} (${source})</summary>`);
  }
  expect([...page.matchAll(/^### /gm)]).toHaveLength(OPENID_CLIENTS.length);
});
