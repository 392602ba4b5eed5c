/** Whether an e-mail address is known cannot be told from how long an answer takes. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { request } from '../support/http.ts';
import { formOf, LOGIN_CONFIG, type LoginBrowser, randomAddress } from '../support/login-browser.ts';
import { type Arrived, LoginFixture } from '../support/login-fixture.ts';
import { startTestService, type TestService } from '../support/service.ts';
import { quickOrLong, report } from '../support/soak.ts';
import { areaUnderCurve, compareTimings, type Kind, timeInPairs } from '../support/timing-comparison.ts';

/** No less than a mail server takes. */
const DELIVERY_MS = 10;
const SAMPLES = quickOrLong(200, 2_000);
/** How far from 0.5 the area may be. */
const BAND = quickOrLong(0.05, 0.02);
/** Enough for all attempts. */
const LONG = { timeout: quickOrLong(120_000, 900_000) };

let fixture: LoginFixture;
let service: TestService;

beforeAll(async () => {
  fixture = await LoginFixture.open();
  const { database, config } = fixture.service;
  await database.sql`
    insert into users (id, email, wallet_address, created_at)
    select gen_random_uuid(), 'known-' || n || '@example.com', 'wallet ' || n, now() from generate_series(0, ${USERS}) n`;
  service = await startTestService({
    database,
    like: config,
    clock: fixture.clock.read,
    config: LOGIN_CONFIG,
    deliver: async (letter) => {
      await sleep(DELIVERY_MS);
      await fixture.mailbox.deliver(letter);
    },
  });
});
afterAll(async () => {
  await service.close();
  await fixture.close();
});

/** So many users that no address is used twice. */
const USERS = 20_000;

let used = 0;
const nextKnown = () => `known-${++used % USERS}@example.com`;
const nextUnknown = () => `other-${++used % USERS}@example.com`;

async function post(browser: LoginBrowser, path: string, fields: Record<string, string>): Promise<string> {
  const { status, headers } = await request(service.url, {
    method: 'POST',
    path,
    headers: {
      cookie: browser.cookie ?? '',
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': randomAddress(),
    },
    body: new URLSearchParams(fields).toString(),
  });
  expect(status).toBe(303);
  return headers.location ?? '';
}

/** Asks for a code for one address after the other. */
function asker({ browser, page }: Arrived, nextEmail: () => string): Kind {
  const { fields } = formOf(page, '/login/email');
  return async () => {
    const email = nextEmail();
    return async () => expect(await post(browser, '/login/email', { ...fields, email })).not.toContain('problem');
  };
}

/** Types wrong codes, four to each that was sent, so that none is the last. */
function guesser({ browser, page }: Arrived, nextEmail: () => string): Kind {
  const { fields } = formOf(page, '/login/email');
  let guesses = 0;
  return async () => {
    fixture.clock.advance(1);
    if (guesses++ % 4 === 0) await post(browser, '/login/email', { ...fields, email: nextEmail() });
    return async () =>
      expect(await post(browser, '/login/code', { ...fields, code: '000000x' })).toContain('Wrong+code');
  };
}

describe('an address that is known and one that is not', () => {
  it('are told apart by a measure that finds half a millisecond', async () => {
    const busy = (ms: number) => async () => async () => {
      const until = performance.now() + ms;
      while (performance.now() < until);
    };
    expect(areaUnderCurve(...(await timeInPairs([busy(0.5), busy(1)], 50)))).toBeGreaterThan(0.75);
    expect(areaUnderCurve([1, 3, 5], [2, 4, 6])).toBeCloseTo(6 / 9);
    expect(areaUnderCurve([1, 1, 2], [1, 1, 2])).toBe(0.5);
  });

  it.for([
    { what: 'codes asked for', kind: asker },
    { what: 'wrong codes typed', kind: guesser },
  ])('are not, by the time of $what', LONG, async ({ what, kind }, context) => {
    const kinds = [
      kind(await fixture.arrive({ at: service }), nextKnown),
      kind(await fixture.arrive({ at: service }), nextUnknown),
    ] as const;
    const area = await compareTimings(kinds, { count: SAMPLES, band: BAND });
    report(context, {
      tried: `${what}, ${SAMPLES} for known addresses and ${SAMPLES} for unknown ones, timed in pairs`,
      lost: 'nothing',
      figures: `AUC ${area.toFixed(3)}`,
    });
    expect(Math.abs(area - 0.5)).toBeLessThanOrEqual(BAND);
  });
});
