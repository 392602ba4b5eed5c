import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import restDocument from '../../../gen/openapi/rest.json' with { type: 'json' };
import { SCAN_OUTCOMES } from '../../../src/database/schema/event-schema.ts';
import { KEY_USES } from '../../../src/domain/api-keys/api-keys.ts';
import { ERRORS, PAGE_ERRORS } from '../../../src/domain/core/errors.ts';
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

test('the comments of RPCs name no reason that does not exist', () => {
  // Settings, values of fields, and reasons that lines of an import have.
  const documented = ['src/config/README.md', 'src/api/README.md'].flatMap(
    (page) => readFileSync(join(REPOSITORY, page), 'utf8').match(/(?<=`)[A-Z_]+(?=`)/g) ?? [],
  );
  const known: readonly string[] = [...Object.keys(ERRORS), ...documented, ...KEY_USES, ...SCAN_OUTCOMES];
  const comments = readdirSync(join(REPOSITORY, 'proto/usher/v1')).flatMap((name) =>
    readFileSync(join(REPOSITORY, 'proto/usher/v1', name), 'utf8').match(/^ *\/\/.*$/gm),
  );
  const named = comments.join('\n').match(/\b[A-Z]+_[A-Z_]+\b/g) ?? [];
  expect(named).toContain('EVENT_NOT_FOUND');
  expect(named.filter((word) => !known.includes(word))).toEqual([]);
});

test('the document of REST names no reason of pages', () => {
  const { enum: reasons } = restDocument.components.schemas.Failure.properties.reason;
  expect(reasons).toContain('EVENT_NOT_FOUND');
  expect(reasons.filter((reason) => reason in PAGE_ERRORS)).toEqual([]);
});
