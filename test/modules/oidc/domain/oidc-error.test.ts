import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OIDC_ERRORS } from '../../../../src/modules/oidc/domain/oidc-error.ts';
import { REPOSITORY } from '../../../support/process.ts';

test('the README of the API lists every error of OpenID Connect', () => {
  const readme = readFileSync(join(REPOSITORY, 'src/api/README.md'), 'utf8');
  const [, table = ''] = readme.split(/^\| `error` \| Status \| .* \|\n\|---\|---\|---\|\n/m);
  const rows = Object.entries(OIDC_ERRORS).map(
    ([error, [, status, description]]) => `| \`${error}\` | ${status} | ${description} |`,
  );
  expect(/^(\|.*\n)*/.exec(table)?.[0].trim().split('\n')).toEqual(rows);
});
