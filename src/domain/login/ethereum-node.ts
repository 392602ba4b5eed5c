/** The Ethereum node of the operator, which Usher asks over JSON-RPC. It may be slow, down, wrong or hostile. */
import { readText } from '../read-text.ts';

/** A node answers in milliseconds. */
const TIMEOUT_MS = 3_000;
/** What is left of a call must suffice to say that the node was too slow. */
const TIMEOUT_SHARE = 0.6;
/** A contract decides how long the data of its error is. */
const MAX_BYTES = 65_536;
/** Per process. Others are refused, so that a slow node does not keep the places of other logins. */
const MAX_IN_FLIGHT = 8;
/**
 * A contract decides how long the node computes. Known ones take below 3 million, with the deployment of the contract;
 * nodes allow 50 million and more by themselves.
 */
const GAS = '0x989680';

/** The node has not answered the question. The message names no URL, which may hold a key. */
export class NodeError extends Error {}

/** The node has answered that a contract refused. */
export class RevertError extends Error {}

export interface EthereumNodeOptions {
  /** http or https, with credentials for basic authentication if there are any. */
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
      // `fetch` refuses URLs with credentials, and quotes them.
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
   * Runs `eth_call` with limited gas, and returns the bytes of the answer in hex.
   *
   * @throws NodeError, RevertError
   */
  async call([transaction, ...others]: readonly unknown[]): Promise<string> {
    if (this.#inFlight >= MAX_IN_FLIGHT) throw new NodeError('busy');
    this.#inFlight++;
    try {
      const signal = AbortSignal.timeout(this.#timeoutMs);
      const result = await this.#ask('eth_call', [Object.assign({ gas: GAS }, transaction), ...others], signal);
      if (!/^0x([0-9a-f]{2})*$/i.test(result)) throw new NodeError('malformed answer');
      // Zeros say no on every chain.
      if (!this.#isChainChecked && !/^0x0*$/.test(result)) await this.#checkChain(signal);
      return result;
    } finally {
      this.#inFlight--;
    }
  }

  /** One address may belong to different people on different chains. */
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

/** Returns the result of a JSON-RPC answer, which is a text for the methods that are used here. */
function resultOf(answer: unknown): string {
  const { result, error } = Object(answer);
  if (typeof result === 'string') return result;
  const { code, message } = Object(error);
  if (!Number.isInteger(code)) throw new NodeError('malformed answer');
  // Geth has the code 3. Other nodes have codes of their own, but all say the word.
  if (code === 3 || /revert/i.test(String(message))) throw new RevertError();
  // Not the message: nodes quote requests.
  throw new NodeError(`error ${code}`);
}

/** Returns what went wrong without the URL, which messages quote. */
function describeFailure(error: unknown): string {
  if (error instanceof SyntaxError) return 'malformed answer';
  const { code } = Object(error instanceof Error ? error.cause : undefined);
  if (typeof code === 'string') return code;
  return error instanceof Error && error.message.startsWith('The reply ') ? error.message : 'no answer';
}
