/** Finds users by e-mail address or wallet address, each by its index. */
import { sql } from 'drizzle-orm';
import { listSpellings, toEmailKey } from '../../config/email-address.ts';
import { users } from '../../database/schema/schema.ts';
import { columnsOf, p, statement, t } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { rule } from '../core/rule.ts';
import { check, identifier, optional, text } from '../core/validation.ts';
import { createList, type Page, type PageTokens, pageRules, readPage } from '../pages/list.ts';
import { canonicalFirst, foldedEmail, isSameEmail } from './find-user-by-email.ts';
import { type User, userColumns } from './user.ts';

const anyText = text({ max: 254 });

/** The filters of lists of users. An address of any form is accepted. `email` becomes the list of its spellings. */
export const userFilterRules = {
  email: optional(rule(anyText.schema, (value) => listSpellings(anyText(value)))),
  walletAddress: optional(identifier),
};

/** Accepts the beginning of an address in any form, and returns its canonical spelling in lower case. */
const emailPrefixRule = optional(rule(anyText.schema, (value) => toEmailKey(anyText(value))));

/** Selects the user with the e-mail address, and with the wallet address if the request has one. Parameters: those of `userFilterRules`. */
export const hasEmail = sql`${isSameEmail(sql`email`, 'email')}
  and (${p.text('walletAddress')} is null or lower(wallet_address) = lower(${p.text('walletAddress')}))`;

export const hasWalletAddress = sql`lower(wallet_address) = lower(${p.text('walletAddress')})`;

const rules = { ...userFilterRules, emailPrefix: emailPrefixRule };

/** Returns a page of the users that are not deleted. With `emailPrefix`, the page is ordered by e-mail address. */
export const listUsers: typeof listNewestUsers = async (call, tokens, request) => {
  const hasOtherOrder = request.emailPrefix != null && request.email == null && request.walletAddress == null;
  return (hasOtherOrder ? listUsersByPrefix : listNewestUsers)(call, tokens, request);
};

const listNewestUsers = createList('select_users', {
  name: 'users',
  rules,
  columns: userColumns,
  order: [users.createdAt, users.id],
  where: sql`deleted_at is null`,
  find: ({ email, walletAddress }) => {
    if (email !== null) return selectUsersByEmail;
    return walletAddress === null ? undefined : selectUsersByWallet;
  },
});

const hasPrefix = sql`
  (${p.text('emailPrefix')} is null or starts_with(${foldedEmail(sql`email`)}, ${p.text('emailPrefix')}))`;

// Rows from before Usher stored A-labels may have several spellings of one address.
const selectUsersByEmail = statement('select_users_by_email', userColumns)`
  select ${columnsOf(userColumns)} from users where deleted_at is null and ${hasEmail} and ${hasPrefix}
  order by ${canonicalFirst('email')} limit 1`;

const selectUsersByWallet = statement('select_users_by_wallet', userColumns)`
  select ${columnsOf(userColumns)} from users where deleted_at is null and ${hasWalletAddress} and ${hasPrefix}`;

/** The instant of every page token. The list is ordered by address alone. */
const ANY_TIME = new Date(0);

/** Returns a page of the users whose e-mail address begins with the prefix, in any case, ordered by address. */
async function listUsersByPrefix(
  { run }: Call,
  tokens: PageTokens,
  request: Parameters<typeof listNewestUsers>[2],
): Promise<Page<User>> {
  const { emailPrefix, pageSize, pageToken } = check(request, { ...rules, ...pageRules });
  return readPage(
    tokens,
    ['users by prefix', emailPrefix],
    { pageSize, pageToken },
    ({ afterId, limit }) => run(selectUsersByPrefix, { emailPrefix, afterEmail: afterId ?? '', limit }),
    ({ sortKey }) => ({ at: ANY_TIME, id: sortKey }),
  );
}

const sortKey = foldedEmail(sql`email`);
const prefix = p.text('emailPrefix');

/** The upper bound is the prefix and 254 times U+10FFFF, the last character. An address has at most 254 characters. */
const selectUsersByPrefix = statement('select_users_by_email_prefix', { ...userColumns, sortKey: t.text })`
  select ${columnsOf(userColumns)}, ${sortKey} as sort_key from users
  where deleted_at is null and ${sortKey} >= ${prefix}
    -- Equivalent: comparison: no address is the bound
    and ${sortKey} <= ${prefix} || repeat(chr(1114111), 254)
    and ${sortKey} > ${p.text('afterEmail')}
  -- Equivalent: limit: a page takes no more rows than it wants
  order by ${sortKey} limit ${p.integer('limit')}`;
