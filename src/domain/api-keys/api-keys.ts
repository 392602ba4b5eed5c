import { apiKeys } from '../../database/api-key-schema.ts';
import type { Deadline, Run } from '../../database/database.ts';
import { createLateError } from '../../database/errors.ts';
import { p, type RowOfType, statement, t } from '../../database/template.ts';
import { withDeadline } from '../../timing/with-deadline.ts';
import { digestOf, isApiKey } from '../applications/api-key.ts';
import { callerColumns } from '../applications/application.ts';
import { BatchLoader } from '../cache/batch-loader.ts';
import { RevalidatingCache, WITHIN_5_SECONDS } from '../cache/revalidating-cache.ts';
import { type ErrorReason, ServiceError } from '../core/errors.ts';
import type { KeyUse } from './key-use.ts';

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
export type KeyOwner = Omit<RowOfType<typeof KEY_OWNER>, 'digest'>;

const API_ONLY: readonly KeyUse[] = ['API'];

/** Authenticates applications by API key. It looks guesses up in batches, so they need no rate limit. */
export class ApiKeys {
  readonly #owners: RevalidatingCache<KeyOwner>;
  readonly #clock: () => Date;

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
   * @throws ServiceError `Invalid API key`, also if `uses` lacks the use of the key; `deletedReason` if the application
   * is deleted
   */
  async authenticate(
    apiKey: string | undefined,
    {
      deadline,
      deletedReason = 'INVALID_API_KEY',
      uses = API_ONLY,
    }: { deadline: Deadline; deletedReason?: ErrorReason; uses?: readonly KeyUse[] },
  ): Promise<KeyOwner> {
    const owner =
      apiKey !== undefined && isApiKey(apiKey) ? await this.#ownerOf(digestOf(apiKey), deadline) : undefined;
    if (!owner || (owner.expiresAt && owner.expiresAt <= this.#clock())) throw new ServiceError('INVALID_API_KEY');
    if (!uses.includes(owner.use)) throw new ServiceError('INVALID_API_KEY');
    if (owner.isDeleted) throw new ServiceError(deletedReason);
    return owner;
  }

  /** Empties the cache, so that a key revoked in this process stops working here at once. */
  forgetAll(): void {
    this.#owners.clear();
  }

  async #ownerOf(digest: string, deadline: Deadline): Promise<KeyOwner | undefined> {
    const found = this.#owners.get(digest, WITHIN_5_SECONDS);
    if (!(found instanceof Promise)) return found?.value;
    return (await withDeadline(deadline, () => found, createLateError))?.value;
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
