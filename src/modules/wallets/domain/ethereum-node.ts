/** A client of the operator's Ethereum node (JSON-RPC). The node may be slow, down, wrong or hostile. */
import { readText } from '../../../encoding/read-text.ts';

/** Nodes usually answer in milliseconds. */
const TIMEOUT_MS = 3_000;
/** The share of the time of a call. The rest must suffice to answer that the node was too slow. */
const TIMEOUT_SHARE = 0.6;
/** Contracts may return error data of any length. */
const MAX_BYTES = 65_536;
/**
 * Per process. Further calls are refused at once, so that a slow node does not use up the capacity for other logins.
 */
const MAX_IN_FLIGHT = 8;
/**
 * 10 million. It limits how long a contract keeps the node busy. Known contract wallets take less than 3 million, with
 * their deployment. The defaults of nodes are 50 million and more.
 */
const GAS = '0x989680';

/** The node gave no answer. The message does not quote the URL, which may contain a key. */
export class NodeError extends Error {}

/** The contract reverted the call. */
export class RevertError extends Error {}

export interface EthereumNodeOptions {
  /** http or https. It may contain credentials for basic authentication. */
  readonly url: string;
  readonly chainId: number;
  readonly requestTimeoutMs: number;
}

export class EthereumNode {
  readonly #url: string;
  readonly #headers: Record<string, string> = { 'content-type': 'application/json' };
  readonly #chainId: number;
  readonly #timeoutMs: number;
  #isChainChecked = false;
  #inFlight = 0;

  constructor({ url, chainId, requestTimeoutMs }: EthereumNodeOptions) {
    const parsed = new URL(url);
    const { username, password } = parsed;
    if (username || password) {
      // `fetch` refuses URLs with credentials, and quotes the URL in its error.
      const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      this.#headers.authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
      parsed.username = '';
      parsed.password = '';
    }
    this.#url = parsed.href;
    this.#chainId = chainId;
    this.#timeoutMs = Math.min(TIMEOUT_MS, requestTimeoutMs * TIMEOUT_SHARE);
  }

  /**
   * Runs `eth_call` with limited gas, and returns the bytes of the result in hex.
   *
   * @throws NodeError if the node gave no answer, RevertError if the contract reverted
   */
  async call([transaction, ...others]: readonly unknown[]): Promise<string> {
    if (this.#inFlight >= MAX_IN_FLIGHT) throw new NodeError('busy');
    this.#inFlight++;
    try {
      const signal = AbortSignal.timeout(this.#timeoutMs);
      const result = await this.#ask('eth_call', [Object.assign({ gas: GAS }, transaction), ...others], signal);
      if (!/^0x([0-9a-f]{2})*$/i.test(result)) throw new NodeError('malformed answer');
      // A result of zeros refuses the signature, so the chain does not matter.
      if (!this.#isChainChecked && !/^0x0*$/.test(result)) await this.#checkChain(signal);
      return result;
    } finally {
      this.#inFlight--;
    }
  }

  /** Checks the chain of the node: the same address may belong to different people on different chains. */
  async #checkChain(signal: AbortSignal): Promise<void> {
    const chainId = await this.#ask('eth_chainId', [], signal);
    if (!/^0x[0-9a-f]{1,64}$/i.test(chainId)) throw new NodeError('malformed answer');
    if (BigInt(chainId) !== BigInt(this.#chainId)) throw new NodeError('wrong chain');
    this.#isChainChecked = true;
  }

  async #ask(method: string, params: readonly unknown[], signal: AbortSignal): Promise<string> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const options = { method: 'POST', headers: this.#headers, body, signal, redirect: 'error' } as const;
    let answer: unknown;
    try {
      answer = JSON.parse(await readText(await fetch(this.#url, options), MAX_BYTES));
    } catch (error) {
      throw new NodeError(error === signal.reason ? 'timeout' : describeFailure(error));
    }
    return resultOf(answer);
  }
}

/** Returns the result of a JSON-RPC answer. Both methods that this file calls return a string. */
function resultOf(answer: unknown): string {
  const { result, error } = Object(answer);
  if (typeof result === 'string') return result;
  const { code, message } = Object(error);
  if (!Number.isInteger(code)) throw new NodeError('malformed answer');
  // Geth uses the code 3. Other nodes use other codes, but all write "revert" in the message.
  if (code === 3 || /revert/i.test(String(message))) throw new RevertError();
  // Without the message, in which nodes quote the request.
  throw new NodeError(`error ${code}`);
}

/** Returns a short reason without the URL, which error messages quote. */
function describeFailure(error: unknown): string {
  if (error instanceof SyntaxError) return 'malformed answer';
  const { code } = Object(error instanceof Error ? error.cause : undefined);
  if (typeof code === 'string') return code;
  return error instanceof Error && error.message.startsWith('The reply ') ? error.message : 'no answer';
}
