/** What the pages of the console cost Postgres: so many statements each, of which one reads all names. */
import { afterAll, expect, test, vi } from 'vitest';
import { Database } from '../../../../src/database/pool/database.ts';
import { ROUTES } from '../../../../src/modules/console/routes.ts';
import { OPERATORS } from '../../../support/console-fixture.ts';
import { fillPath, openSampledConsole } from '../../../support/console-samples.ts';

const { fixture, samples, browser } = await openSampledConsole(OPERATORS.admin);
afterAll(() => fixture.close());

/** With those that find out who the operator is. */
const MOST = 4;
/** Pages that show more than one resource or list. */
const MOST_OF: Readonly<Record<string, number>> = {
  '/': 9,
  '/attempts': 5,
  '/health': 7,
  '/users/:u/attempts': 5,
  '/users/:u/recovery': 8,
  '/applications/:a/users': 6,
  '/applications/:a/attempts': 6,
  '/users/:u': 15,
  '/users/:u/sessions': 5,
  '/applications': 5,
  '/users/:u/passkeys/:p/remove': 5,
  '/users/:u/accounts/:i/:s/remove': 5,
  '/users/:u/wallet/remove': 5,
  '/users/:u/second-factor/reset': 5,
  '/groups/:g': 5,
  '/applications/:a/events/:e': 6,
  '/applications/:a/events/:e/figures': 5,
  '/applications/:a/events/:e/edit': 5,
  '/applications/:a/events/:e/attendees': 5,
  '/applications/:a/events/:e/refusals': 5,
  // A page that is not full asks how far it has looked.
  '/applications/:a/sessions': 5,
  '/applications/:a/webhooks/:w': 12,
  '/applications/:a/webhooks/:w/resend': 6,
  '/applications/:a/webhooks/:w/deliveries': 7,
  '/applications/:a/webhooks/:w/deliveries/:m': 7,
};

/** The least of so many counts: jobs run beside, and on a busy machine beside each of a few requests. */
const REQUESTS = 30;

const pages = ROUTES.filter(
  ({ method, role, path }) => method === 'GET' && role !== 'anyone' && !/\.(csv|jsonl)$/.test(path),
).map(({ path }) => path);

test.each(pages)('%s runs no more statements than it has', async (path) => {
  using run = vi.spyOn(Database.prototype, 'run');
  const most = MOST_OF[path] ?? MOST;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < REQUESTS && least > most; at++) {
    run.mockClear();
    expect((await browser.open(fillPath(path, samples.params))).status).toBeLessThan(500);
    least = Math.min(least, run.mock.calls.length);
  }
  expect(least).toBeGreaterThan(0);
  expect(least).toBeLessThanOrEqual(most);
});

test('pages of the list still exist', () => {
  expect(pages).toEqual(expect.arrayContaining(Object.keys(MOST_OF)));
});
