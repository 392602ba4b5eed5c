import { sql } from 'drizzle-orm';
import { loginCodes } from '../../database/schema/login-schema.ts';
import { columnsOf, type RowOfType, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { type InBrowser, isInBrowser } from '../sessions/browser.ts';

/** How often a code may be entered. */
export const ATTEMPTS = 5;

const { id, userId, email, walletAddress, identityId, codeDigest } = loginCodes;
const { sends, isUnsent, attempts, isRedeemed, createdAt, expiresAt } = loginCodes;
const ownership = { userId, email, walletAddress, identityId };
export const storedCodeColumns = {
  id,
  ...ownership,
  codeDigest,
  sends,
  isUnsent,
  attempts,
  isRedeemed,
  createdAt,
  expiresAt,
};

export type StoredLoginCode = RowOfType<typeof storedCodeColumns>;

export async function findLatestCode({ run }: Call, where: InBrowser): Promise<StoredLoginCode | undefined> {
  const [latest] = await run(selectLatestCode, { ...where });
  return latest;
}

/** Parameters: all of `InBrowser`. */
export const latestCode = sql`
  select ${columnsOf(storedCodeColumns)} from login_codes where ${isInBrowser}
  -- Equivalent: limit: everybody takes the first row
  order by created_at desc limit 1`;

const selectLatestCode = statement('select_latest_login_code', storedCodeColumns)`${latestCode}`;
