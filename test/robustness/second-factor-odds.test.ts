/** How likely somebody who has passed the first step guesses a code of the app. */
import { randomBytes, randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { RowCipher } from '../../src/domain/crypto/aes-gcm.ts';
import { deriveLoginCodeKeys } from '../../src/domain/login/login-code.ts';
import { useSecondFactor } from '../../src/domain/second-factor/check-second-factor.ts';
import { computeTotp, findTotpStep } from '../../src/domain/second-factor/totp.ts';
import { encodeBase32 } from '../../src/encoding/base32.ts';
import { HOUR, MINUTE, SECOND, TestClock } from '../support/clock.ts';
import { cloneDatabase } from '../support/database.ts';
import { RecordingDatabase } from '../support/recording-database.ts';
import { quickOrLong, report } from '../support/soak.ts';

const TRIES = quickOrLong(1_500, 100_000);
const PAUSE_MS = quickOrLong(60, 15) * SECOND;
const INTERVAL_MS = 30 * MINUTE;
const BURST = 5;

it('a day of tries has 53 that are compared, with three codes each: 1 in 6,289', async (context) => {
  await using database = await cloneDatabase();
  await using statements = new RecordingDatabase(database.url);
  const [userId, id, secret] = [randomUUID(), randomUUID(), randomBytes(20)];
  const keys = [randomBytes(32)];
  const parts = { cipher: new RowCipher(keys), codes: { keys: deriveLoginCodeKeys(keys) } };
  const sealed = parts.cipher.encrypt(encodeBase32(secret), { applicationId: userId, id });
  await database.sql`
    insert into totp_secrets (user_id, id, sealed, last_step, created_at)
    values (${userId}, ${id}, ${sealed}, 0, now())`;
  const clock = new TestClock();
  const compared: number[] = [];
  for (let at = 0; at < TRIES; at++) {
    const wrong = computeTotp(secret, at);
    const call = { run: statements.within(0), now: clock.read() };
    const tried = useSecondFactor(call, parts, userId, { kind: 'app', code: wrong }, () => expect.unreachable());
    const reason = await tried.catch((error) => error.reason);
    expect(reason).toMatch(/^(WRONG_SECOND_FACTOR|TOO_MANY_ATTEMPTS)$/);
    if (reason === 'WRONG_SECOND_FACTOR') compared.push(at * PAUSE_MS);
    clock.advance(PAUSE_MS);
  }
  const inADay = compared.filter((ms) => ms <= 24 * HOUR).length;
  report(context, {
    tried: `${TRIES} wrong codes of a user`,
    figures: `${compared.length} compared, ${inADay} in a day`,
  });
  expect(compared).toHaveLength(BURST + Math.floor(((TRIES - 1) * PAUSE_MS) / INTERVAL_MS));
  expect(inADay).toBe(53);
  expect(Math.round(1_000_000 / (3 * inADay))).toBe(6_289);
});

it('three codes of a million are right at a time', () => {
  const [secret, now] = [randomBytes(20), new Date()];
  const present = Math.floor(now.getTime() / (30 * SECOND));
  const right = new Set([-1, 0, 1].map((step) => computeTotp(secret, present + step)));
  const tried = [...right, ...Array.from({ length: TRIES }, (_, at) => String(at * 7).padStart(6, '0'))];
  const accepted = new Set(tried.filter((code) => findTotpStep(secret, code, now) !== undefined));
  expect(accepted).toEqual(right);
});
