import type { Run } from '../../../database/pool/database.ts';
import { applications } from '../../../database/schema/schema.ts';
import { anyOf } from '../../../database/sql/any-of.ts';
import { columnsOf, p, type RowOfType, statement } from '../../../database/sql/template.ts';
import { callerColumns } from '../../../domain/applications/application.ts';
import { BatchLoader } from '../../../domain/cache/batch-loader.ts';
import { RevalidatingCache } from '../../../domain/cache/revalidating-cache.ts';

const { resourceUri, resourceScopes, allowMetadataClients, machineClientIds } = applications;
const RESOURCE = { ...callerColumns, resourceUri, resourceScopes, allowMetadataClients, machineClientIds };

/** An application for which other clients get tokens. */
export type Resource = RowOfType<typeof RESOURCE>;

const MAX_URI_LENGTH = 2_048;

/** Finds resources by their URIs and IDs. Batches limit how many statements guesses cost. */
export class Resources {
  readonly #byUri: RevalidatingCache<Resource>;
  readonly #byId: RevalidatingCache<Resource>;

  /** `run` has no deadline: several callers share one read, and their deadlines differ. */
  constructor(run: Run) {
    const uris = new BatchLoader(async (keys) => {
      const rows = await run(selectByUri, { uris: keys });
      return new Map(rows.map((resource) => [toKey(resource.resourceUri ?? ''), resource]));
    });
    const ids = new BatchLoader(async (keys) => {
      const rows = await run(selectById, { ids: keys });
      return new Map(rows.map((resource) => [resource.id, resource]));
    });
    this.#byUri = new RevalidatingCache((uri) => uris.load(uri));
    this.#byId = new RevalidatingCache((id) => ids.load(id));
  }

  /** Returns the resource with this URI, which may be any text. Slashes at the end do not count. */
  async findByUri(uri: string): Promise<Resource | undefined> {
    if (uri.length > MAX_URI_LENGTH || uri.includes('\0') || toKey(uri) === '') return undefined;
    return this.#byUri.find(toKey(uri));
  }

  /** Returns the resource with this UUID. */
  async findById(id: string): Promise<Resource | undefined> {
    return this.#byId.find(id);
  }
}

function toKey(uri: string): string {
  return uri.replace(/\/+$/, '');
}

const selectByUri = statement('select_resources_by_uri', RESOURCE)`
  select ${columnsOf(RESOURCE)} from applications
  where rtrim(resource_uri, '/') = ${anyOf(p.texts('uris'))} and deleted_at is null and open_id_connect`;

const selectById = statement('select_resources_by_id', RESOURCE)`
  select ${columnsOf(RESOURCE)} from applications
  where id = ${anyOf(p.uuids('ids'))} and resource_uri is not null and deleted_at is null and open_id_connect`;
