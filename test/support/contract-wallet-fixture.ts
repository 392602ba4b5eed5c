/** A service whose operator has an Ethereum node, and people with contract wallets. */
import type { Config } from '../../src/config/config.ts';
import { ContractWallet, FACTORY_CODE } from './contract-wallet.ts';
import { EthereumTestNode } from './ethereum-node.ts';
import { LoginFixture } from './login-fixture.ts';
import { RecordedLog } from './recorded-log.ts';
import { createTestUser } from './service.ts';

export const FACTORY = `0x${'f'.repeat(40)}`;
export const NODE_CREDENTIALS = { user: 'ope rator', password: 'node-password:%' };
export const NODE_PATH = '/v3/node-key?key=node-query';

export class ContractWalletFixture implements AsyncDisposable {
  readonly log: RecordedLog;
  readonly login: LoginFixture;
  readonly node: EthereumTestNode;
  /** What the service knows of the node. */
  readonly rpcUrl: string;

  private constructor(log: RecordedLog, login: LoginFixture, node: EthereumTestNode, rpcUrl: string) {
    this.log = log;
    this.login = login;
    this.node = node;
    this.rpcUrl = rpcUrl;
  }

  static async open(config: Partial<Config> = {}): Promise<ContractWalletFixture> {
    const node = await EthereumTestNode.start();
    await node.deploy(FACTORY, FACTORY_CODE);
    const log = new RecordedLog();
    const url = new URL(NODE_PATH, node.url);
    url.username = NODE_CREDENTIALS.user;
    url.password = NODE_CREDENTIALS.password.replace('%', '%25');
    const login = await LoginFixture.open({ logger: log.logger, config: { ...config, ethereumRpcUrl: url.href } });
    return new ContractWalletFixture(log, login, node, url.href);
  }

  readonly close = async () => {
    await this.login.close();
    await this.node.stop();
  };
  readonly [Symbol.asyncDispose] = this.close;

  /** Returns a wallet of a user that has been given a message. */
  async askForMessage({ of = this.login, isDeployed = true } = {}) {
    const wallet = new ContractWallet(FACTORY);
    if (isDeployed) await this.node.deploy(wallet.address, wallet.code);
    await createTestUser(of.service, { walletAddress: wallet.address });
    return { wallet, ...(await of.askForMessage(wallet.address)) };
  }
}
