import type { Call } from '../../../domain/core/call.ts';
import { ServiceError } from '../../../domain/core/errors.ts';
import type { LoginCodeSettings } from '../../../domain/login/login-code.ts';
import { type SharedLimit, takeNetworkPermits } from '../../../domain/login/network-permits.ts';
import type { Browser } from '../../../domain/sessions/browser.ts';
import { isSignedByContract } from './contract-wallet.ts';
import { digestText, recoverSigner } from './ethereum.ts';
import { type EthereumNode, NodeError } from './ethereum-node.ts';

/**
 * In hex, this is 7.5 KiB of a form, which may have 8 KiB. Signatures of contract wallets grow by 65 to 600 bytes per
 * owner, and by 200 to 1,000 bytes for the call that deploys the contract (EIP-6492).
 */
export const MAX_SIGNATURE_BYTES = 3_840;
/**
 * Signatures of keys have 64 or 65 bytes. Without a node, a longer one than this counts as one of a contract wallet.
 */
const MAX_KEY_SIGNATURE_BYTES = 66;

/** Limits calls to the node: anybody can begin logins and send signatures that only the node can verify. */
const CHECKS: SharedLimit = {
  subject: 'wallet signatures',
  perNetwork: { burst: 20, intervalMs: 3 * 60_000 },
  perSite: { burst: 100, intervalMs: 36_000 },
  reason: 'TOO_MANY_SIGNATURES',
};

export interface WalletSettings {
  /** The chain on which contract wallets are. */
  readonly chainId: number;
  /** Verifies the signatures of contract wallets. Undefined if the operator has set none. */
  readonly node: EthereumNode | undefined;
}

/** What verifies signatures. */
export interface SignatureParts extends Pick<WalletSettings, 'node'> {
  readonly codes: LoginCodeSettings;
}

/**
 * Checks that the wallet with the address has signed the message. Calls the node only if the signature is not by the
 * key of that address.
 *
 * @throws ServiceError `Invalid signature`, `Contract wallet not supported`, `Too many signatures`, `Signature not
 * checked`
 */
export async function requireWalletSignature(
  call: Call,
  { codes, node }: SignatureParts,
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
  if (bytes > MAX_SIGNATURE_BYTES || (!node && bytes > MAX_KEY_SIGNATURE_BYTES))
    throw new ServiceError('CONTRACT_WALLET_NOT_SUPPORTED');
  if (!node) throw new ServiceError('INVALID_SIGNATURE');
  await takeNetworkPermits(call, codes, browser, CHECKS);
  const wallet = { address, digest: digestText(message), signature };
  const isSigned = await isSignedByContract(node, wallet).catch((error) => {
    throw error instanceof NodeError ? new ServiceError('SIGNATURE_NOT_CHECKED', { detail: error.message }) : error;
  });
  if (!isSigned) throw new ServiceError('INVALID_SIGNATURE');
}
