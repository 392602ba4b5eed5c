import type { Call } from '../call.ts';
import { ServiceError } from '../errors.ts';
import type { Browser } from './browser.ts';
import { isSignedByContract } from './contract-wallet.ts';
import { digestText, recoverSigner } from './ethereum.ts';
import { type EthereumNode, NodeError } from './ethereum-node.ts';
import type { LoginCodeSettings } from './login-code.ts';
import { type SharedLimit, takeNetworkPermits } from './network-permits.ts';

/**
 * The longest signature. In hex it has 7.5 of the 8 KiB of a form. An owner of a contract adds 65 to 600 bytes, and the
 * call that deploys the contract (EIP-6492) 200 to 1,000.
 */
export const MAX_SIGNATURE_BYTES = 3_840;
/** Signatures of keys have 64 or 65 bytes. One more may be a damaged one. */
const MAX_KEY_BYTES = 66;

/** Anybody can begin logins and send what only the node can judge. */
const CHECKS: SharedLimit = {
  subject: 'wallet signatures',
  perNetwork: { burst: 20, intervalMs: 3 * 60_000 },
  perSite: { burst: 100, intervalMs: 36_000 },
  reason: 'TOO_MANY_SIGNATURES',
};

export interface WalletSettings {
  readonly codes: LoginCodeSettings;
  readonly chainId: number;
  /** Judges the signatures of contract wallets. */
  readonly node: EthereumNode | undefined;
}

/**
 * Checks that the wallet with the address has signed the message. The node is asked only if no key with that address has.
 *
 * @throws ServiceError `Invalid signature`, `Contract wallet not supported`, `Too many signatures`,
 * `Signature not checked`
 */
export async function requireWalletSignature(
  call: Call,
  { codes, node }: Pick<WalletSettings, 'codes' | 'node'>,
  browser: Browser,
  { address, message }: { readonly address: string; readonly message: string },
  signature: string,
): Promise<void> {
  const signer = await recoverSigner(message, signature);
  if (signer?.address === address) {
    if (signer.hasHighS) throw new ServiceError('INVALID_SIGNATURE');
    return;
  }
  if (!/^0x([0-9a-f]{2})*$/i.test(signature)) throw new ServiceError('INVALID_SIGNATURE');
  const bytes = signature.length / 2 - 1;
  if (bytes > MAX_SIGNATURE_BYTES || (!node && bytes > MAX_KEY_BYTES))
    throw new ServiceError('CONTRACT_WALLET_NOT_SUPPORTED');
  if (!node) throw new ServiceError('INVALID_SIGNATURE');
  await takeNetworkPermits(call, codes, browser, CHECKS);
  const wallet = { address, digest: digestText(message), signature };
  const isSigned = await isSignedByContract(node, wallet).catch((error) => {
    throw error instanceof NodeError ? new ServiceError('SIGNATURE_NOT_CHECKED', { detail: error.message }) : error;
  });
  if (!isSigned) throw new ServiceError('INVALID_SIGNATURE');
}
