/** A node of a chain of its own: an EVM behind JSON-RPC, which may also be told to misbehave. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createEVM, type EVM } from '@ethereumjs/evm';
import { bytesToHex, createAddressFromString, hexToBytes } from '@ethereumjs/util';
import { listenOnLoopback, stopServer } from './loopback-server.ts';

type Hex = `0x${string}`;

interface RpcRequest {
  readonly method: string;
  readonly params: readonly [{ readonly to?: Hex; readonly data?: Hex; readonly gas?: Hex }?];
}

export type NodeAnswer = (response: ServerResponse, rpc: RpcRequest) => unknown;

export class EthereumTestNode implements AsyncDisposable {
  /** Everything that was asked. */
  readonly asked: (RpcRequest & { readonly headers: IncomingMessage['headers']; readonly path: string })[] = [];
  /** Replaces the answers of the EVM. */
  answer: NodeAnswer | undefined;
  chainId: Hex = '0x1';
  readonly url: string;
  readonly #server: Server;
  readonly #evm: EVM;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(server: Server, url: string, evm: EVM) {
    this.url = url;
    this.#server = server;
    this.#evm = evm;
    server.on('request', (request, response) => this.#serve(request, response));
  }

  static async start(): Promise<EthereumTestNode> {
    const server = createServer();
    return new EthereumTestNode(server, `${await listenOnLoopback(server)}/`, await createEVM());
  }

  /** Puts the code at the address, in place of any other. */
  async deploy(address: string, code: string): Promise<void> {
    await this.#evm.stateManager.putCode(createAddressFromString(address), hexToBytes(code as Hex));
  }

  stop(): Promise<void> {
    return stopServer(this.#server);
  }

  readonly [Symbol.asyncDispose] = () => this.stop();

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const rpc = JSON.parse(Buffer.concat(await request.toArray()).toString());
    this.asked.push({ ...rpc, headers: request.headers, path: request.url ?? '' });
    response.setHeader('content-type', 'application/json');
    if (this.answer) this.answer(response, rpc);
    else response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, ...(await this.#evaluate(rpc)) }));
  }

  async #evaluate({ method, params: [transaction = {}] }: RpcRequest) {
    if (method === 'eth_chainId') return { result: this.chainId };
    if (method !== 'eth_call') return { error: { code: -32_601, message: 'method not found' } };
    const { to, data = '0x', gas = '0x2faf080' } = transaction;
    // One at a time, and without a trace.
    const calling = this.#last.then(async () => {
      await this.#evm.stateManager.checkpoint();
      try {
        const call = { data: hexToBytes(data), gasLimit: BigInt(gas), ...(to && { to: createAddressFromString(to) }) };
        return (await this.#evm.runCall(call)).execResult;
      } finally {
        await this.#evm.stateManager.revert();
      }
    });
    this.#last = calling.catch(() => {});
    const { returnValue, exceptionError } = await calling;
    if (!exceptionError) return { result: bytesToHex(returnValue) };
    if (exceptionError.error !== 'revert') return { error: { code: -32_000, message: exceptionError.error } };
    return { error: { code: 3, message: 'execution reverted', data: bytesToHex(returnValue) } };
  }
}
