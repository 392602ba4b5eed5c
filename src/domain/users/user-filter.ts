/** Finds users by e-mail address or wallet address, each by its index. */
import { sql } from 'drizzle-orm';
import { p } from '../../database/template.ts';
import { identifier, optional, text } from '../validation.ts';

/** The filters of lists of users. An address of any form is accepted. */
export const userFilterRules = { email: optional(text({ max: 254 })), walletAddress: optional(identifier) };

/** Selects the user with the e-mail address, and with the wallet address if the request has one. */
export const hasEmail = sql`lower(email) = lower(${p.text('email')})
  and (${p.text('walletAddress')} is null or lower(wallet_address) = lower(${p.text('walletAddress')}))`;

export const hasWalletAddress = sql`lower(wallet_address) = lower(${p.text('walletAddress')})`;
