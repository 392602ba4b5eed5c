/** Processes of Usher on ports of their own, which tests end and start again. */
import { setTimeout as sleep } from 'node:timers/promises';
import { FakeProvider } from '../../../support/fake-provider.ts';
import { findFreePort } from '../../../support/free-port.ts';
import { MailServer } from '../../../support/mail-server.ts';
import { createRsaJwk } from '../../../support/oidc.ts';
import { startUsher, type UsherProcess } from '../../../support/process.ts';

export const REPLICAS = 3;

const ENV = {
  REQUEST_TIMEOUT_MS: '2000',
  WEBHOOK_TIMEOUT_MS: '2000',
  // On a busy machine an attempt may fail, and must not be waited for longer than for the fault.
  WEBHOOK_RETRY_SCHEDULE: [0, ...Array(30).fill(1)].join(),
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  SHUTDOWN_DELAY_MS: '0',
  SHUTDOWN_TIMEOUT_MS: '5000',
  OIDC_SIGNING_KEYS_FILE: 'oidc-keys',
  TRUSTED_PROXIES: '127.0.0.1',
  LOGIN_METHODS: 'wallet,email,passkey,acme',
  MAIL_FROM: 'login@usher.test',
  LOGIN_PROVIDERS_FILE: 'providers',
};

/** All replicas sign ID tokens and logout tokens with it. */
const FILES = { 'oidc-keys': JSON.stringify({ keys: [createRsaJwk()] }) };

/** How a replica differs from the others. */
export interface ReplicaOptions {
  readonly databaseUrl: string;
  readonly env?: Readonly<Record<string, string>>;
}

export class Replicas implements AsyncDisposable {
  readonly ports: readonly number[];
  /** Where people sign in, too. It vouches for their addresses. */
  readonly provider: FakeProvider;
  readonly mail: MailServer;
  readonly #options: readonly ReplicaOptions[];
  readonly #processes: UsherProcess[] = [];

  private constructor(
    ports: readonly number[],
    { provider, mail }: Pick<Replicas, 'provider' | 'mail'>,
    options: readonly ReplicaOptions[],
  ) {
    this.ports = ports;
    this.provider = provider;
    this.mail = mail;
    this.#options = options;
  }

  static async start(options: readonly ReplicaOptions[]): Promise<Replicas> {
    const ports = await Promise.all(options.map(findFreePort));
    const [provider, mail] = [await FakeProvider.start(), await MailServer.start()];
    const replicas = new Replicas(ports, { provider, mail }, options);
    await Promise.all(ports.map((_, at) => replicas.start(at)));
    return replicas;
  }

  get #files() {
    return { ...FILES, providers: JSON.stringify([this.provider.settings({ trustEmail: true })]) };
  }

  get url(): string {
    return `http://127.0.0.1:${this.ports[0]}`;
  }

  /** Starts a replica that has ended. */
  async start(at: number): Promise<void> {
    const { databaseUrl, env } = this.#options[at] ?? { databaseUrl: '' };
    this.#processes[at] = await startUsher(
      databaseUrl,
      { ...ENV, SMTP_URL: this.mail.url, PORT: String(this.ports[at]), ...env },
      { files: this.#files },
    );
  }

  /** Sends the signal and resolves to the exit code when the replica has ended. */
  async end(at: number, signal: NodeJS.Signals): Promise<number | null> {
    return (await this.#processes[at]?.end(signal)) ?? null;
  }

  /** Stops a replica in whatever it does, and lets it go on after so many milliseconds. */
  async pause(at: number, milliseconds: number): Promise<void> {
    this.#processes[at]?.kill('SIGSTOP');
    await sleep(milliseconds);
    this.#processes[at]?.kill('SIGCONT');
  }

  /** The errors that the replicas have logged. */
  get errors(): string {
    return this.#processes.map(({ errors }) => errors).join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#processes.map((usher) => usher[Symbol.asyncDispose]()));
    await this.provider.stop();
    await this.mail[Symbol.asyncDispose]();
  }
}

/** Returns the options of replicas that are all alike. */
export function alike(databaseUrl: string): ReplicaOptions[] {
  return Array.from({ length: REPLICAS }, () => ({ databaseUrl }));
}
