import { Registry } from '@prometheus-io/client';
import type { Collect } from './collect.ts';

/** How long a scrape counts, so that any number of clients costs one per second. */
const SHARED_MS = 1_000;

interface Scrape {
  readonly contentType: string;
  readonly text: string;
}

/** Scrapes at the same time share one. */
export class Scraper {
  readonly #collect: Collect;
  #scrape: Promise<Scrape> | undefined;

  constructor(collect: Collect) {
    this.#collect = collect;
  }

  scrape(): Promise<Scrape> {
    this.#scrape ??= this.#scrapeNow();
    return this.#scrape;
  }

  async #scrapeNow(): Promise<Scrape> {
    try {
      const registry = Registry.aggregate([await this.#collect({ withShared: true })]);
      return { contentType: registry.contentType, text: await registry.metrics() };
    } finally {
      setTimeout(() => {
        this.#scrape = undefined;
      }, SHARED_MS).unref();
    }
  }
}
