/** Contract wallets. They have no key: the code of the contract decides whether a signature is valid. */
import { type EthereumNode, RevertError } from './ethereum-node.ts';

/**
 * Returns whether the contract accepts the signature of the digest (EIP-1271), or will accept it after its deployment
 * (EIP-6492).
 *
 * @throws NodeError if the node did not answer
 */
export async function isSignedByContract(
  node: EthereumNode,
  wallet: { readonly address: string; readonly digest: Uint8Array; readonly signature: string },
): Promise<boolean> {
  // Loaded with the first signature of a contract wallet, since most processes see none.
  const { createPublicClient, custom, toHex } = await import('viem');
  let failure: unknown;
  const request = async ({ method, params }: { method: string; params: readonly unknown[] }) => {
    // viem calls other methods only for signatures of EIP-8010, which are not supported.
    if (method !== 'eth_call') throw new RevertError();
    return node.call(params).catch((error) => {
      // viem treats every error as a refusal by the contract, so an error of the node is kept and thrown below.
      if (!(error instanceof RevertError)) failure = error;
      throw error;
    });
  };
  // With CCIP-Read, a contract could make Usher fetch any URL.
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
