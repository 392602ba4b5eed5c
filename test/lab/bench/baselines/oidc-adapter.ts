/**
 * Stores what `oidc-provider` keeps in Postgres, as the adapters of its documentation do: a table for each model, whose
 * rows are JSON. Every statement is prepared once per connection.
 */
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { Pool } from 'pg';

/** Those that a code flow stores. */
export const STORED_MODELS = ['Session', 'Interaction', 'Grant', 'AuthorizationCode', 'AccessToken', 'RefreshToken'];

export function tableOf(model: string): string {
  return `oidc${model.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`;
}

export function createAdapter(pool: Pool, model: string): Adapter {
  const table = tableOf(model);
  const run = async (name: string, text: string, values: readonly unknown[]) =>
    (await pool.query({ name: `${name} ${table}`, text: text.replaceAll('TABLE', table), values: [...values] })).rows;
  const findBy = (column: string) => {
    const text = `select payload, consumed_at from TABLE where ${column} = $1 and (expires_at is null or expires_at > now())`;
    return async (value: string): Promise<AdapterPayload | undefined> => {
      const [row] = await run(`find by ${column}`, text, [value]);
      return row && { ...row.payload, ...(row.consumed_at && { consumed: row.consumed_at.getTime() / 1_000 }) };
    };
  };
  return {
    async upsert(id, payload, expiresIn) {
      await run(
        'upsert',
        `insert into TABLE (id, payload, grant_id, uid, expires_at)
        values ($1, $2, $3, $4, now() + make_interval(secs => $5::float8))
        on conflict (id) do update set payload = excluded.payload, grant_id = excluded.grant_id, uid = excluded.uid,
          expires_at = excluded.expires_at`,
        [id, JSON.stringify(payload), payload.grantId, payload.uid, expiresIn],
      );
    },
    find: findBy('id'),
    findByUid: findBy('uid'),
    async findByUserCode() {},
    async consume(id) {
      await run('consume', 'update TABLE set consumed_at = now() where id = $1', [id]);
    },
    async destroy(id) {
      await run('destroy', 'delete from TABLE where id = $1', [id]);
    },
    async revokeByGrantId(grantId) {
      await run('revoke', 'delete from TABLE where grant_id = $1', [grantId]);
    },
  };
}
