import { rememberedSignIns } from '../../../database/schema/login-schema.ts';
import { p, type RowOfType, statement, t } from '../../../database/sql/template.ts';
import type { Call } from '../../../domain/core/call.ts';
import type { SignInMethod } from '../../../domain/tokens/verify-token.ts';

const columns = {
  tokenDigest: rememberedSignIns.tokenDigest,
  browserDigest: rememberedSignIns.browserDigest,
  ipAddress: rememberedSignIns.ipAddress,
  userAgent: rememberedSignIns.userAgent,
  method: t.textOf<SignInMethod>(),
  authenticatedAt: rememberedSignIns.authenticatedAt,
  expiresAt: rememberedSignIns.expiresAt,
};

export type AccountRememberedSignIn = RowOfType<typeof columns>;

/** Returns the user's sign-ins that browsers remember, the newest first. */
export async function listRememberedSignIns(
  { run, now }: Call,
  userId: string,
): Promise<readonly AccountRememberedSignIn[]> {
  return run(selectSignIns, { userId, now });
}

const selectSignIns = statement('select_account_sign_ins', columns)`
  select token_digest, browser_digest, ip_address, user_agent, method, authenticated_at, expires_at from remembered_sign_ins
  where user_id = ${p.uuid('userId')} and expires_at > ${p.instant('now')}
  order by authenticated_at desc, token_digest limit 100`;

/** Returns their number and the newest for an export. The tokens are secrets, and only the browsers have them. */
export async function exportRememberedSignIns(call: Call, userId: string) {
  const { run, now } = call;
  const [[counted], signIns] = await Promise.all([
    run(countSignIns, { userId, now }),
    listRememberedSignIns(call, userId),
  ]);
  const rememberedBrowsers = signIns.map(({ tokenDigest: _token, browserDigest: _browser, ...shown }) => shown);
  return { ...counted, rememberedBrowsers };
}

const countSignIns = statement('count_remembered_sign_ins', { rememberedSignIns: t.integer })`
  select count(*)::integer as remembered_sign_ins from remembered_sign_ins
  where user_id = ${p.uuid('userId')} and expires_at > ${p.instant('now')}`;
