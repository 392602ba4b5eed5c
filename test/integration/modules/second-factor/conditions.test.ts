/** What happens around a second step: clocks that differ, and new encryption keys. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { SECOND } from '../../../support/clock.ts';
import { LOGIN_CONFIG, type LoginBrowser, type LoginPage } from '../../../support/login-browser.ts';
import { LoginFixture } from '../../../support/login-fixture.ts';
import { createPersonWithApp, reachStep, STEP } from '../../../support/second-factor.ts';

const STEP_MS = 30 * SECOND;
const fixture = await LoginFixture.open({ start: new Date() });
const { clock, service } = fixture;
const { sql } = service.database;
afterAll(fixture.close);
beforeEach(() => sql`delete from rate_limits`);

const enter = ({ browser, page }: { browser: LoginBrowser; page: LoginPage }, code: string) =>
  browser.submit(page, STEP, { code });
const isIn = ({ location }: LoginPage) => location?.includes('authToken=') ?? false;
/** Moves the clock to so many milliseconds after the beginning of the next time step. */
const moveInto = (ms: number) => clock.advance(STEP_MS - (clock.read().getTime() % STEP_MS) + STEP_MS + ms);

describe('the clock of Postgres', () => {
  it.each([
    // At the beginning of a step, and at the end of one: how far the phone is behind, and whether its code works.
    [0, -61, false],
    [0, -31, true],
    [0, -29, true],
    [0, 29, true],
    [0, 31, false],
    [0, 61, false],
    [29, -61, false],
    [29, -31, false],
    [29, -29, true],
    [29, 29, true],
    [29, 31, true],
    [29, 61, false],
  ])('at second %i of a step, is ahead of a phone by %i s: the code works: %s', async (second, ahead, works) => {
    const person = await createPersonWithApp(fixture);
    const step = await reachStep(fixture, { user: person.user });
    moveInto(second * SECOND);
    const phone = new Date(clock.read().getTime() - ahead * SECOND);
    expect(isIn(await enter(step, person.app.codeAt(phone)))).toBe(works);
  });

  it.each([29, 31, 61])('that goes back by %i s accepts no code again, and later ones in time', async (seconds) => {
    const person = await createPersonWithApp(fixture);
    const [first, second] = [
      await reachStep(fixture, { user: person.user }),
      await reachStep(fixture, { user: person.user }),
    ];
    moveInto(0);
    const used = person.app.codeAt(clock.read());
    expect(isIn(await enter(first, used))).toBe(true);
    clock.advance(-seconds * SECOND);
    const replay = await enter(second, used);
    expect([isIn(replay), replay.alert]).toEqual([false, expect.stringMatching(/used already|not the right code/)]);
    const early = await enter(second, person.app.codeAt(clock.read()));
    expect([isIn(early), early.alert]).toEqual([false, expect.stringContaining('used already')]);
    clock.advance(seconds * SECOND + STEP_MS);
    expect(isIn(await enter(second, person.app.codeAt(clock.read())))).toBe(true);
  });
});

describe('a new encryption key', () => {
  const { encryptionKeys = [] } = service.config.secrets;
  const [NEW, OTHER] = [randomBytes(32), randomBytes(32)];
  const startWith = (keys: readonly Buffer[]) =>
    fixture.startReplica({ ...LOGIN_CONFIG, secrets: { ...service.config.secrets, encryptionKeys: [...keys] } });

  it('keeps apps, and is refused without the old one', async () => {
    const person = await createPersonWithApp(fixture);
    const sealed = async () =>
      (await sql`select sealed from totp_secrets where user_id = ${person.user.id}`)[0]?.sealed.toString('hex');
    const before = await sealed();
    const signInAt = async (replica: typeof service) => {
      clock.advance(STEP_MS);
      const step = await reachStep(fixture, { user: person.user, at: replica });
      return isIn(await enter(step, person.app.codeAt(clock.read())));
    };
    await expect(startWith([OTHER])).rejects.toThrow(/^The encryption keys do not fit the database: .* [0-9a-f]{8}$/);
    expect(await sealed()).toBe(before);
    await using both = await startWith([NEW, ...encryptionKeys]);
    expect(await signInAt(both)).toBe(true);
    await expect.poll(sealed, { timeout: 60_000 }).not.toBe(before);
    await using only = await startWith([NEW]);
    expect(await signInAt(only)).toBe(true);
    // A replica that was forgotten says that it fails, takes no permit, and uses nothing up.
    const [stored] = await sql`select last_step from totp_secrets where user_id = ${person.user.id}`;
    clock.advance(STEP_MS);
    const step = await reachStep(fixture, { user: person.user });
    const code = person.app.codeAt(clock.read());
    for (let tries = 0; tries < 6; tries++) expect((await enter(step, code)).status).toBe(500);
    expect((await sql`select last_step from totp_secrets where user_id = ${person.user.id}`)[0]).toEqual(stored);
    expect(isIn(await enter({ ...step, browser: step.browser.at(both) }, code))).toBe(true);
  });
});
