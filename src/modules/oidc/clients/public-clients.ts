import type { Run } from '../../../database/pool/database.ts';
import { anyOf } from '../../../database/sql/any-of.ts';
import { columnsOf, p, type RowOfType, statement } from '../../../database/sql/template.ts';
import { callerColumns } from '../../../domain/applications/application.ts';
import { CLIENT_ID } from '../../../domain/applications/client-id.ts';
import { BatchLoader } from '../../../domain/cache/batch-loader.ts';
import { RevalidatingCache } from '../../../domain/cache/revalidating-cache.ts';

type PublicClient = RowOfType<typeof callerColumns>;

/** Finds public clients, which need no secret. Batches limit how many statements guesses cost. */
export class PublicClients {
  readonly #cache: RevalidatingCache<PublicClient>;

  /** `run` has no deadline: several callers share one read, and their deadlines differ. */
  constructor(run: Run) {
    const loader = new BatchLoader(async (clientIds) => {
      const rows = await run(selectPublicClients, { clientIds });
      return new Map(rows.map((client) => [client.clientId, client]));
    });
    this.#cache = new RevalidatingCache((clientId) => loader.load(clientId));
  }

  /** Counts how many clients were cached, and how many had to be read. */
  get lookUps() {
    return this.#cache.lookUps;
  }

  async find(clientId: string): Promise<PublicClient | undefined> {
    if (!CLIENT_ID.test(clientId)) return undefined;
    return this.#cache.find(clientId);
  }
}

const selectPublicClients = statement('select_public_clients', callerColumns)`
  select ${columnsOf(callerColumns)} from applications
  where client_id = ${anyOf(p.texts('clientIds'))} and public_client and deleted_at is null`;
