import type { Run } from '../../database/pool/database.ts';
import { apiKeys } from '../../database/schema/api-key-schema.ts';
import { p, type RowOfType, statement, t } from '../../database/sql/template.ts';
import { digestOf, isApiKey } from '../applications/api-key.ts';
import { callerColumns } from '../applications/application.ts';
import { BatchLoader } from '../cache/batch-loader.ts';
import { RevalidatingCache } from '../cache/revalidating-cache.ts';
import { type ErrorReason, ServiceError } from '../core/errors.ts';

const KEY_OWNER = {
  /** In hex. */
  digest: t.text,
  apiKeyId: apiKeys.id,
  expiresAt: apiKeys.expiresAt,
  use: t.textOf<KeyUse>(),
  application: callerColumns,
  isDeleted: t.boolean,
};

/** A key with its application, which may have been deleted. */
type KeyOwner = Omit<RowOfType<typeof KEY_OWNER>, 'digest'>;

const API_ONLY: readonly KeyUse[] = ['API'];

const MINUTE_MS = 60_000;
const MAX_BATCH_SIZE = 1_000;

/**
 * Authenticates applications by API key. It looks guesses up in batches, so they need no rate limit. It keeps the minute
 * of each key's last use in memory until `saveUses` stores it, so that a call costs no write.
 */
export class ApiKeys {
  readonly #owners: RevalidatingCache<KeyOwner>;
  readonly #clock: () => Date;
  /** Minutes since 1970, by key ID. */
  #uses = new Map<string, number>();

  /** `run` reads without the deadline of a caller, because several callers share an answer. */
  constructor(run: Run, clock: () => Date = () => new Date()) {
    const loader = new BatchLoader(async (digests) => {
      const rows = await run(selectKeyOwners, { digests });
      return new Map(rows.map(({ digest, ...owner }) => [digest, owner]));
    });
    this.#owners = new RevalidatingCache((digest) => loader.load(digest));
    this.#clock = clock;
  }

  /** How many keys the cache knew, and how many had to be looked up. */
  get lookUps() {
    return this.#owners.lookUps;
  }

  /**
   * Returns the ID of the key and its application.
   *
   * @throws ServiceError `Invalid API key`, also if `uses` lacks the use of the key, or if it belongs to another client
   * than `clientId`; `deletedReason` if the application is deleted
   */
  async authenticate(
    apiKey: string | undefined,
    {
      clientId,
      deletedReason = 'INVALID_API_KEY',
      uses = API_ONLY,
    }: { clientId?: string; deletedReason?: ErrorReason; uses?: readonly KeyUse[] } = {},
  ): Promise<KeyOwner> {
    // Equivalent: condition: the text of undefined is no key
    const owner = apiKey !== undefined && isApiKey(apiKey) ? await this.#owners.find(digestOf(apiKey)) : undefined;
    const now = this.#clock();
    if (!owner || (owner.expiresAt && owner.expiresAt <= now)) throw new ServiceError('INVALID_API_KEY');
    if (!uses.includes(owner.use)) throw new ServiceError('INVALID_API_KEY');
    if (owner.isDeleted) throw new ServiceError(deletedReason);
    if (clientId !== undefined && owner.application.clientId !== clientId) throw new ServiceError('INVALID_API_KEY');
    this.#uses.set(owner.apiKeyId, Math.floor(now.getTime() / MINUTE_MS));
    return owner;
  }

  /** Empties the cache, so that a key revoked in this process stops working here at once. */
  clear(): void {
    this.#owners.clear();
  }

  /** Stores the uses since the last time. What could not be stored, the next time stores. */
  async saveUses(run: Run): Promise<void> {
    const unsaved = this.#uses;
    this.#uses = new Map();
    try {
      const ids = [...unsaved.keys()].sort();
      for (let at = 0; at < ids.length; at += MAX_BATCH_SIZE) {
        const batch = ids.slice(at, at + MAX_BATCH_SIZE);
        const instants = batch.map((id) => new Date((unsaved.get(id) ?? 0) * MINUTE_MS));
        await run(setLastUsed, { ids: batch, instants });
      }
    } catch (error) {
      for (const [id, minute] of unsaved) if (!this.#uses.has(id)) this.#uses.set(id, minute);
      throw error;
    }
  }
}

/** Selects the keys with these digests, in hex, that are not revoked, each with its application. */
const selectKeyOwners = statement('select_api_key_owners', KEY_OWNER)`
  select encode(k.digest, 'hex') as digest, k.id as api_key_id, k.expires_at, k.use, a.id, a.name, a.client_id,
    a.redirect_uris, a.session_max_age_seconds, a.session_idle_seconds, a.single_sign_on,
    a.restrict_access, a.required_assurance, a.attribute_claims, a.open_id_connect,
    a.device_login, a.deleted_at is not null as is_deleted
  from api_keys k join applications a on a.id = k.application_id
  where k.digest = any(array(select decode(hex, 'hex') from unnest(${p.texts('digests')}) as hex))
    and k.revoked_at is null`;

const setLastUsed = statement('set_api_keys_last_used')`
  update api_keys k set last_used_at = used.at
  from unnest(${p.uuids('ids')}, ${p.instants('instants')}) as used(id, at)
  -- Another replica may have stored a later use.
  where k.id = used.id and (k.last_used_at is null or k.last_used_at < used.at)`;

/** An `API` key opens the API and OpenID Connect. The holder of a `CLIENT_SECRET` cannot call the API. */
export const KEY_USES = ['API', 'CLIENT_SECRET'] as const;

type KeyUse = (typeof KEY_USES)[number];
