import type { Call } from '../../../domain/core/call.ts';
import { type Passkey, selectPasskeys } from '../../../domain/passkeys/list-passkeys.ts';
import { showYoung } from '../../../domain/users/counts-from.ts';
import type { RelyingParty } from './relying-party.ts';

/** Returns the passkeys that the user can use on this login page, oldest first. */
export async function listOwnPasskeys(
  { run, now }: Call,
  { userId }: { readonly userId: string },
  { rpId }: RelyingParty,
): Promise<Passkey[]> {
  const passkeys = await run(selectPasskeys, { userId });
  const own = passkeys.filter((passkey) => passkey.rpId === rpId);
  return showYoung(own, now);
}
