/** Finds users by e-mail address or wallet address, each by its index. */
import { sql } from 'drizzle-orm';
import { listSpellings, toEmailKey } from '../../config/email-address.ts';
import { p } from '../../database/sql/template.ts';
import { rule } from '../core/rule.ts';
import { identifier, optional, text } from '../core/validation.ts';
import { isSameEmail } from './same-email.ts';

const anyText = text({ max: 254 });

/** The filters of lists of users. An address of any form is accepted. `email` becomes the list of its spellings. */
export const userFilterRules = {
  email: optional(rule(anyText.schema, (value) => listSpellings(anyText(value)))),
  walletAddress: optional(identifier),
};

/** Accepts the beginning of an address in any form, and returns its canonical spelling in lower case. */
export const emailPrefixRule = optional(rule(anyText.schema, (value) => toEmailKey(anyText(value))));

/** Selects the user with the e-mail address, and with the wallet address if the request has one. Parameters: those of `userFilterRules`. */
export const hasEmail = sql`${isSameEmail(sql`email`, 'email')}
  and (${p.text('walletAddress')} is null or lower(wallet_address) = lower(${p.text('walletAddress')}))`;

export const hasWalletAddress = sql`lower(wallet_address) = lower(${p.text('walletAddress')})`;
