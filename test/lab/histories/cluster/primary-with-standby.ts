/** A primary with a synchronous standby, which can change their roles. */
import type postgres from 'postgres';
import { expect } from 'vitest';
import { migrateDatabase } from '../../../../src/database/migrate/migrate.ts';
import { TcpProxy } from '../../../../src/testing/tcp-proxy.ts';
import { DebianPostgres } from '../../../support/debian-postgres.ts';

const DATABASE = 'usher';

export class PrimaryWithStandby implements AsyncDisposable {
  #primary: DebianPostgres;
  #standby: DebianPostgres;
  readonly #stack: AsyncDisposableStack;

  private constructor(primary: DebianPostgres, standby: DebianPostgres, stack: AsyncDisposableStack) {
    this.#primary = primary;
    this.#standby = standby;
    this.#stack = stack;
  }

  static async start(): Promise<PrimaryWithStandby> {
    await using stack = new AsyncDisposableStack();
    const primary = stack.use(await DebianPostgres.start());
    await primary.sql('postgres', (sql) => sql.unsafe(`create database ${DATABASE}`));
    const standby = stack.use(await primary.startStandby('twin'));
    const servers = new PrimaryWithStandby(primary, standby, stack.move());
    await servers.#waitForStandby();
    await migrateDatabase(servers.url);
    return servers;
  }

  get primary(): DebianPostgres {
    return this.#primary;
  }

  get standby(): DebianPostgres {
    return this.#standby;
  }

  /** Names both servers. */
  get url(): string {
    return `postgres://usher@${this.#standby.address},${this.#primary.address}/${DATABASE}`;
  }

  get primaryUrl(): string {
    return this.#primary.urlOf(DATABASE);
  }

  readonly onPrimary = <Result>(use: (sql: postgres.Sql) => Promise<Result>): Promise<Result> =>
    this.#primary.sql(DATABASE, use);

  /** Opens a network to the primary. */
  openProxy(): Promise<TcpProxy> {
    return TcpProxy.open(this.primaryUrl);
  }

  /** Makes the standby the primary, whatever the old one does. */
  async promote(): Promise<void> {
    await this.#standby.promote();
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
  }

  /** Makes the old primary, which is down, the synchronous standby of the new one. */
  async rejoin(): Promise<void> {
    await this.#standby.rejoin(this.#primary, 'twin');
    await this.#waitForStandby();
  }

  /** Resolves when the standby has everything that was committed without it, and later commits wait for it. */
  async waitUntilSynchronous(): Promise<void> {
    const [{ end }] = await this.onPrimary(
      (sql) => sql<[{ end: string }]>`select pg_current_wal_insert_lsn()::text as end`,
    );
    const readStandbys = (sql: postgres.Sql) => sql`
      select 1 from pg_stat_replication where sync_state = 'sync' and flush_lsn >= ${end}::pg_lsn`;
    await expect.poll(() => this.onPrimary(readStandbys), { interval: 100 }).toHaveLength(1);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  /** Makes commits wait for the standby. */
  async #waitForStandby(): Promise<void> {
    await this.#primary.sql('postgres', async (sql) => {
      await sql`alter system set synchronous_standby_names = 'twin'`;
      await sql`select pg_reload_conf()`;
    });
  }
}
