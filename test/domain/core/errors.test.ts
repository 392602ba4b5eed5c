import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ERRORS } from '../../../src/domain/core/errors.ts';
import { HTTP_ERRORS } from '../../../src/http/errors.ts';
import { REPOSITORY } from '../../support/process.ts';

test('the reference lists every reason with its code and message, and no other', () => {
  const page = readFileSync(join(REPOSITORY, 'src/api/README.md'), 'utf8');
  const listed = page.match(/^\| `[A-Z0-9_]+` \| (`[A-Z_]+`|\d+) \| .* \|$/gm);
  const errors = Object.entries(ERRORS).map(([reason, [code, message]]) => [
    reason,
    `\`${code.toUpperCase()}\``,
    message,
  ]);
  const httpErrors = Object.entries(HTTP_ERRORS).map(([reason, [status, message]]) => [reason, status, message]);
  const rows = [...errors, ...httpErrors].map(([reason, code, message]) => `| \`${reason}\` | ${code} | ${message} |`);
  expect(listed).toEqual(rows);
});

test('a reason that HTTP shares has the same message', () => {
  const messages = new Map<string, string>(
    Object.entries(HTTP_ERRORS).map(([reason, [, message]]) => [reason, message]),
  );
  const shared = Object.entries(ERRORS).filter(([reason]) => messages.has(reason));
  expect(shared.map(([reason]) => messages.get(reason))).toEqual(shared.map(([, [, message]]) => message));
});
