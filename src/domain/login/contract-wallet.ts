/** Wallets that are contracts and have no key: they decide themselves which signatures are theirs. */
import { type EthereumNode, RevertError } from './ethereum-node.ts';

/**
 * Returns whether the contract accepts the signature of the digest now (EIP-1271), or would once it is deployed
 * (EIP-6492).
 *
 * @throws NodeError
 */
export async function isSignedByContract(
  node: EthereumNode,
  wallet: { readonly address: string; readonly digest: Uint8Array; readonly signature: string },
): Promise<boolean> {
  // Loaded with the first such signature, since most processes see none.
  const { createPublicClient, custom, toHex } = await import('viem');
  let failure: unknown;
  const request = async ({ method, params }: { method: string; params: readonly unknown[] }) => {
    // Other methods belong to signatures of EIP-8010, which are not supported.
    if (method !== 'eth_call') throw new RevertError();
    return node.call(params).catch((error) => {
      // viem takes every error for a refusal of the contract.
      if (!(error instanceof RevertError)) failure = error;
      throw error;
    });
  };
  // With CCIP-Read, contracts could name URLs to fetch.
  const client = createPublicClient({ transport: custom({ request }, { retryCount: 0 }), ccipRead: false });
  const { address, digest, signature } = wallet;
  const isValid = await client
    .verifyHash({
      address: address as `0x${string}`,
      hash: toHex(digest),
      signature: signature as `0x${string}`,
    })
    .catch(() => false);
  if (failure) throw failure;
  return isValid;
}
