import { walletChallenges } from '../../database/schema/login-schema.ts';
import { p, statement } from '../../database/sql/template.ts';
import type { Call } from '../core/call.ts';
import { findProvedIdentity } from '../identities/link-identity.ts';
import { type InBrowser, isInBrowser } from '../sessions/browser.ts';

/** The wallet or identity that a login by code links to its user. */
export interface ToLink {
  readonly walletAddress: string | null;
  readonly identityId: string | null;
}

/** The value of `link` for a wallet. Any other value is the ID of a provider. */
export const LINK_WALLET = '1';

/** Returns the wallet or identity that this browser has proved to have at this login. `link` chooses between them. */
export async function findToLink(call: Call, inBrowser: InBrowser, link: string): Promise<ToLink> {
  if (link === LINK_WALLET) {
    const [wallet] = await call.run(selectProvedWallet, { ...inBrowser, now: call.now });
    return { walletAddress: wallet?.address ?? null, identityId: null };
  }
  const identity = link ? await findProvedIdentity(call, { ...inBrowser, provider: link }) : undefined;
  return { walletAddress: null, identityId: identity?.id ?? null };
}

/**
 * Returns what the form of the code links: what the code was sent for, if the page has said so. Otherwise whoever has
 * copied the cookies of the browser could have a code sent that links their own wallet when the person enters it.
 */
export function toLinkBy<Code extends ToLink>(code: Code, link: string): Code {
  const isWanted = code.identityId ? link !== '' && link !== LINK_WALLET : link === LINK_WALLET;
  return isWanted ? code : { ...code, walletAddress: null, identityId: null };
}

/** Only wallets that no user has are marked as proved. */
const selectProvedWallet = statement('select_proved_wallet', { address: walletChallenges.address })`
  select address from wallet_challenges
  where ${isInBrowser} and is_proved and expires_at > ${p.instant('now')}
  -- Equivalent: limit: the first row is taken
  order by created_at desc limit 1`;
