import type { Run } from '../../database/database.ts';
import { p, statement } from '../../database/template.ts';

const MINUTE_MS = 60_000;
const MAX_BATCH_SIZE = 1_000;

/** Keeps the minute of each API key's last use in memory until `save` stores it. So a call costs no write. */
export class ApiKeyUsage {
  /** Minutes since 1970, by key ID. */
  #minutes = new Map<string, number>();

  record(apiKeyId: string, now: Date): void {
    this.#minutes.set(apiKeyId, Math.floor(now.getTime() / MINUTE_MS));
  }

  /** Stores the minutes recorded since the last save. The next save retries minutes that could not be stored. */
  async save(run: Run): Promise<void> {
    const unsaved = this.#minutes;
    this.#minutes = new Map();
    try {
      const ids = [...unsaved.keys()].sort();
      for (let at = 0; at < ids.length; at += MAX_BATCH_SIZE) {
        const batch = ids.slice(at, at + MAX_BATCH_SIZE);
        const instants = batch.map((id) => new Date((unsaved.get(id) ?? 0) * MINUTE_MS));
        await run(setLastUsed, { ids: batch, instants });
        for (const id of batch) unsaved.delete(id);
      }
    } catch (error) {
      for (const [id, minute] of unsaved) if (!this.#minutes.has(id)) this.#minutes.set(id, minute);
      throw error;
    }
  }
}

const setLastUsed = statement('set_api_keys_last_used')`
  update api_keys k set last_used_at = used.at
  from unnest(${p.uuids('ids')}, ${p.instants('instants')}) as used(id, at)
  -- Another replica may have stored a later use.
  where k.id = used.id and (k.last_used_at is null or k.last_used_at < used.at)`;
