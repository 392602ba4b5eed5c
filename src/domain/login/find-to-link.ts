import { walletChallenges } from '../../database/login-schema.ts';
import { p, statement } from '../../database/template.ts';
import type { Call } from '../call.ts';
import { findProvedIdentity } from '../providers/link-identity.ts';
import { type InBrowser, isInBrowser } from './browser.ts';

/** What the user of the code gets. */
export interface ToLink {
  readonly walletAddress: string | null;
  readonly identityId: string | null;
}

/** The value of `link` that stands for a wallet. Others name a provider. */
export const LINK_WALLET = '1';

/** Returns what this browser has proved to have at this login, and the user of a code is to get. */
export async function findToLink(call: Call, inBrowser: InBrowser, link: string): Promise<ToLink> {
  if (link === LINK_WALLET) {
    const [wallet] = await call.run(selectProvedWallet, { ...inBrowser, now: call.now });
    return { walletAddress: wallet?.address ?? null, identityId: null };
  }
  const identity = link ? await findProvedIdentity(call, { ...inBrowser, provider: link }) : undefined;
  return { walletAddress: null, identityId: identity?.id ?? null };
}

/** Selects the wallet without a user that this browser has proved to have at this login. */
const selectProvedWallet = statement('select_proved_wallet', { address: walletChallenges.address })`
  select address from wallet_challenges
  where ${isInBrowser} and is_proved and expires_at > ${p.instant('now')}
  order by created_at desc limit 1`;
