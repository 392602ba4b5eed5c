import type { Config, ModuleSettings } from '../../config/config.ts';
import { integerBetween, parseUrlWithCredentials } from '../../config/parse-setting.ts';
import { setting, type ValuesOf } from '../../config/setting.ts';
import { requirePackage } from './require-package.ts';

/** EIP-2294 allows chain IDs up to 2^63 - 37, but a JavaScript number is exact only up to here. */
const MAX_CHAIN_ID = Number.MAX_SAFE_INTEGER;

const SETTINGS_OF_WALLETS = {
  ethereumRpcUrl: setting(
    'ETHEREUM_RPC_URL',
    parseEthereumUrl,
    'Ethereum node that checks signatures of contract wallets. Needs an [optional package](src/OPERATIONS.md#packages).',
  ),
  ethereumChainId: setting(
    'ETHEREUM_CHAIN_ID',
    integerBetween(1, MAX_CHAIN_ID),
    'Chain of contract wallets, and of `ETHEREUM_RPC_URL`.',
    { default: 1 },
  ),
};

export interface WalletConfig extends Config, ValuesOf<typeof SETTINGS_OF_WALLETS> {}

/** What wallets add to the settings. */
export const ofWallets: ModuleSettings = {
  settings: SETTINGS_OF_WALLETS,
  offerMethods: () => [{ name: 'wallet' }],
};

/** Returns the normalised URL. The package that asks contract wallets is optional. */
function parseEthereumUrl(text: string): string {
  const url = parseUrlWithCredentials(text);
  requirePackage('viem');
  return url;
}
