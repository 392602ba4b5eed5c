import type { Run } from '../../../../database/pool/database.ts';
import { apiKeys } from '../../../../database/schema/api-key-schema.ts';
import { applications } from '../../../../database/schema/schema.ts';
import { anyOf } from '../../../../database/sql/any-of.ts';
import { nullable, p, type RowOfType, statement, t } from '../../../../database/sql/template.ts';
import { createApplicationCache } from '../../../../domain/cache/application-cache.ts';
import type { RevalidatingCache } from '../../../../domain/cache/revalidating-cache.ts';

const KEY = {
  applicationId: apiKeys.applicationId,
  expiresAt: apiKeys.expiresAt,
  clientId: applications.clientId,
  resourceUri: nullable(t.text),
  resourceUriChangedAt: applications.resourceUriChangedAt,
  resourceScopes: applications.resourceScopes,
};

type MachineKey = RowOfType<typeof KEY>;

/** Finds the live API keys of clients that a resource lists. */
export class MachineKeys {
  readonly #cache: RevalidatingCache<MachineKey>;

  /** `run` has no deadline: several callers share one read, and their deadlines differ. */
  constructor(run: Run) {
    this.#cache = createApplicationCache(async (resourceId, keyIds) => {
      const rows = await run(selectMachineKeys, { resourceId, keyIds });
      return new Map(rows.map(({ id, ...key }) => [id, key]));
    });
  }

  /** Forgets every value. */
  clear(): void {
    this.#cache.clear();
  }

  /** Counts how many keys were cached, and how many had to be read. */
  get lookUps() {
    return this.#cache.lookUps;
  }

  /** Returns the key unless it was revoked, its application deleted, or the client taken off the list. The IDs are UUIDs. */
  async find(resourceId: string, keyId: string): Promise<MachineKey | undefined> {
    return this.#cache.find(`${resourceId}/${keyId}`);
  }
}

const selectMachineKeys = statement('select_machine_keys', { ...KEY, id: apiKeys.id })`
  select k.id, k.application_id, k.expires_at, c.client_id, r.resource_uri, r.resource_uri_changed_at, r.resource_scopes
  from api_keys k
    join applications c on c.id = k.application_id
    join applications r on r.id = ${p.uuid('resourceId')}
  where k.id = ${anyOf(p.uuids('keyIds'))} and k.revoked_at is null and c.deleted_at is null and c.open_id_connect
    and r.open_id_connect and c.client_id = any(r.machine_client_ids)`;
