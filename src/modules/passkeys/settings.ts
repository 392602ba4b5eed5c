import { isIP } from 'node:net';
import type { ModuleSettings } from '../../config/config.ts';
import { setting, type ValuesOf } from '../../config/setting.ts';

const SETTINGS_OF_PASSKEYS = {
  passkeyRpId: setting(
    'PASSKEY_RP_ID',
    parseRelyingPartyId,
    'Host that passkeys belong to: that of `PUBLIC_URL`, or a parent domain of it.',
    { isEssential: true, defaultText: 'host of `PUBLIC_URL`' },
  ),
};

export type PasskeySettings = ValuesOf<typeof SETTINGS_OF_PASSKEYS>;

/** What passkeys add to the settings. */
export const ofPasskeys: ModuleSettings<PasskeySettings> = {
  settings: SETTINGS_OF_PASSKEYS,
  offerMethods({ publicUrl }) {
    if (allowsPasskeys(publicUrl)) return [{ name: 'passkey' }];
    const problem = 'PUBLIC_URL must be https with a host name, or be on localhost, for LOGIN_METHODS with passkey';
    return [{ name: 'passkey', problem }];
  },
  complete(_, problems, { passkeyRpId, publicUrl }) {
    if (!passkeyRpId) return {};
    if (!isRelyingPartyOf(passkeyRpId, publicUrl)) {
      problems.push('PASSKEY_RP_ID must be the host of PUBLIC_URL or a parent of it');
    } else if (!passkeyRpId.includes('.') && new URL(publicUrl).hostname !== passkeyRpId) {
      // Browsers refuse it.
      problems.push('PASSKEY_RP_ID must not be a top-level domain');
    }
    return {};
  },
};

/** Accepts host names only: WebAuthn does not allow IP addresses as relying party IDs. */
function parseRelyingPartyId(text: string): string {
  const isName = /^(?=.{1,253}$)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/.test(text) && isIP(text) === 0;
  if (!isName) throw new Error('must be the name of a host in lower case, such as example.com');
  return text;
}

/**
 * Returns whether a page at the URL can use passkeys: over https at a name, or at localhost (WebAuthn, sections 5.1.3 and
 * 5.1.4).
 */
function allowsPasskeys(publicUrl: string): boolean {
  const { protocol, hostname } = new URL(publicUrl);
  const isName = isIP(hostname) === 0 && !hostname.startsWith('[');
  return isName && (protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost'));
}

function isRelyingPartyOf(rpId: string, publicUrl: string): boolean {
  return `.${new URL(publicUrl).hostname}`.endsWith(`.${rpId}`);
}
