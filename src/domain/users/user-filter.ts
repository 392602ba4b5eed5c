/** Finds users by e-mail address or wallet address, each by its index. */
import { type SQL, sql } from 'drizzle-orm';
import { users } from '../../database/schema.ts';
import { identifier, optional, text } from '../validation.ts';

/** The fields of a list of users. Any text may be looked for. */
export const userFilterRules = { email: optional(text({ max: 254 })), walletAddress: optional(identifier) };

/** Selects the user with the e-mail address, and the wallet address unless it is null. */
export function hasEmail(): SQL {
  const walletAddress = sql.placeholder('walletAddress');
  return sql`lower(${users.email}) = lower(${sql.placeholder('email')})
    and (${walletAddress}::text is null or lower(${users.walletAddress}) = lower(${walletAddress}))`;
}

export function hasWalletAddress(): SQL {
  return sql`lower(${users.walletAddress}) = lower(${sql.placeholder('walletAddress')})`;
}
