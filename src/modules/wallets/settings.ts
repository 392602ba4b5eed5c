import type { Config, ModuleSettings } from '../../config/config.ts';
import { integerBetween } from '../../config/parse-setting.ts';
import { setting, type ValuesOf } from '../../config/setting.ts';

/** EIP-2294 allows chain IDs up to 2^63 - 37, but a JavaScript number is exact only up to here. */
const MAX_CHAIN_ID = Number.MAX_SAFE_INTEGER;

const SETTINGS_OF_WALLETS = {
  ethereumChainId: setting(
    'ETHEREUM_CHAIN_ID',
    integerBetween(1, MAX_CHAIN_ID),
    'Chain that the message for wallets to sign names.',
    { default: 1 },
  ),
};

export interface WalletConfig extends Config, ValuesOf<typeof SETTINGS_OF_WALLETS> {}

/** What wallets add to the settings. */
export const ofWallets: ModuleSettings = {
  settings: SETTINGS_OF_WALLETS,
  offerMethods: () => [{ name: 'wallet' }],
};
