/** Lists as downloads, read page by page as the client takes them: a page at a time is in memory. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ServiceError } from '../../domain/errors.ts';
import type { Page } from '../../domain/pages/read-page.ts';
import type { HttpContext } from '../../http/http-context.ts';

/** Exports at a time per process. */
const MAX_EXPORTS = 2;
/** A client that takes nothing for so long is gone. */
const STALL_MS = 60_000;

export const CSV = 'text/csv; charset=utf-8';

interface Export<Row> {
  readonly filename: string;
  readonly type: string;
  readonly head: () => string;
  readonly toLine: (row: Row) => string;
  readonly readPage: (pageToken: string) => Promise<Page<Row>>;
}

export class Exporter {
  readonly #closing: AbortSignal;
  readonly #stallMs: number;
  #running = 0;

  constructor(closing: AbortSignal, stallMs = STALL_MS) {
    this.#closing = closing;
    this.#stallMs = stallMs;
  }

  /** @throws ServiceError if there are too many, or that of the first page. Later the answer is cut off. */
  async send<Row>(context: HttpContext, given: Export<Row>): Promise<void> {
    if (this.#running >= MAX_EXPORTS) throw new ServiceError('SERVICE_UNAVAILABLE');
    this.#running++;
    try {
      await this.#send(context, given);
    } finally {
      this.#running--;
    }
  }

  async #send<Row>({ commonHeaders, request, response }: HttpContext, given: Export<Row>): Promise<void> {
    const { filename, type, head, toLine, readPage } = given;
    // Read before the headers are sent, so that wrong filters get an error.
    const first = await readPage('');
    const stalled = new AbortController();
    const stallMs = this.#stallMs;
    let timer: NodeJS.Timeout | undefined;
    async function* lines() {
      yield head();
      for (let page = first; ; page = await readPage(page.nextPageToken)) {
        timer = setTimeout(() => stalled.abort(), stallMs);
        yield page.rows.map(toLine).join('');
        // Of the last page the time goes on, until the client has taken it.
        if (page.nextPageToken === '') return;
        clearTimeout(timer);
      }
    }
    const headers = {
      ...commonHeaders,
      'content-type': type,
      'cache-control': 'no-store',
      // No browser shows a text of others as a page.
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'content-disposition': `attachment; filename="${filename}"`,
    };
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // An answer without a body has nothing that a client would take slowly.
    if (request.method === 'HEAD') return void response.end();
    const signal = AbortSignal.any([this.#closing, stalled.signal]);
    await pipeline(Readable.from(lines(), { objectMode: false, highWaterMark: 1 }), response, { signal }).finally(() =>
      clearTimeout(timer),
    );
  }
}

/**
 * Where a spreadsheet begins a formula: at the start of a cell, which in some countries a semicolon separates, and with
 * the wide signs of East Asia, too.
 */
const FORMULA = /(^|[;\t\r\n])(?=[=+\-@\t\r＝＋－＠])/g;

/** RFC 4180. An apostrophe makes a text of what would be a formula. */
export function toCsvLine(values: readonly string[]): string {
  const cells = values.map((value) => `"${value.replace(FORMULA, "$1'").replaceAll('"', '""')}"`);
  return `${cells.join(',')}\r\n`;
}
