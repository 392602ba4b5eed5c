/** Sends lists as downloads. Reads a page when the client has taken the previous one, so memory holds few pages. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Logger } from 'pino';
import { ServiceError } from '../../domain/core/errors.ts';
import type { Page } from '../../domain/pages/list.ts';
import { INERT_HEADERS } from '../../http/exchange.ts';
import type { HttpContext } from '../../http/http-context.ts';
import { Progress } from '../../progress.ts';

/** An export ends if its client does not take a page within this time. */
const STALL_MS = 60_000;

export const CSV = 'text/csv; charset=utf-8';
export const JSON_LINES = 'application/jsonl';
export const BYTE_ORDER_MARK = '\u{FEFF}';

interface ExportLimits {
  /** Concurrent exports per process. */
  readonly max: number;
  readonly maxPerOwner?: number;
  readonly stallMs?: number;
}

interface Export<Row> {
  readonly filename: string;
  /** Who may have only so many exports at a time, so that others find a free one. */
  readonly owner?: string;
  readonly type: string;
  readonly head: () => string;
  readonly toLine: (row: Row) => string;
  readonly readPage: (pageToken: string) => Promise<Page<Row>>;
}

export class Exporter {
  readonly #closing: AbortSignal;
  readonly #limits: Required<ExportLimits>;
  /** An owner for each export. */
  readonly #running: string[] = [];

  readonly #logger: Pick<Logger, 'info'>;

  constructor(
    closing: AbortSignal,
    logger: Pick<Logger, 'info'>,
    { max, maxPerOwner = max, stallMs = STALL_MS }: ExportLimits,
  ) {
    this.#closing = closing;
    this.#logger = logger;
    this.#limits = { max, maxPerOwner, stallMs };
  }

  /**
   * Resolves when the client has taken the list.
   *
   * @throws ServiceError `Service unavailable` if too many exports run or the server closes, `CANCELED` if the client
   * leaves or stalls; and errors of `readPage`. After the first page, an error leaves the answer incomplete.
   */
  async send<Row>(context: HttpContext, given: Export<Row>): Promise<void> {
    const { owner = '' } = given;
    const { max, maxPerOwner } = this.#limits;
    const ofOwner = this.#running.filter((other) => other === owner);
    if (this.#running.length >= max || ofOwner.length >= maxPerOwner) throw new ServiceError('SERVICE_UNAVAILABLE');
    this.#running.push(owner);
    try {
      await this.#send(context, given);
    } finally {
      this.#running.splice(this.#running.indexOf(owner), 1);
    }
  }

  async #send<Row>({ commonHeaders, request, response }: HttpContext, given: Export<Row>): Promise<void> {
    const { filename, type, head, toLine, readPage } = given;
    // Read before the headers are sent, so that wrong filters get an error.
    const first = await readPage('');
    const stalled = new AbortController();
    const { stallMs } = this.#limits;
    let timer: NodeJS.Timeout | undefined;
    let rows = 0;
    using progress = new Progress(() => this.#logger.info({ filename, rows }, 'export is running'));
    async function* lines() {
      yield head();
      for (let page = first; ; page = await readPage(page.nextPageToken)) {
        timer = setTimeout(() => stalled.abort(), stallMs);
        rows += page.rows.length;
        progress.report(`exporting ${filename}: ${rows} rows`);
        yield page.rows.map(toLine).join('');
        // The timer of the last page runs until the response has ended.
        if (page.nextPageToken === '') return;
        clearTimeout(timer);
      }
    }
    const headers = {
      ...commonHeaders,
      'content-type': type,
      ...INERT_HEADERS,
      'content-disposition': `attachment; filename="${filename}"`,
    };
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    // Without a body, there is nothing to stream.
    if (request.method === 'HEAD') return void response.end();
    const signal = AbortSignal.any([this.#closing, stalled.signal]);
    try {
      await pipeline(Readable.from(lines(), { objectMode: false, highWaterMark: 1 }), response, { signal });
    } catch (error) {
      if (!isInterruption(error)) throw error;
      throw new ServiceError(this.#closing.aborted ? 'SERVICE_UNAVAILABLE' : 'CANCELED');
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Returns whether the client left, or a signal was aborted. Neither is a fault of Usher. */
function isInterruption(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.name === 'AbortError' || ('code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE');
}

/**
 * The places where a spreadsheet would begin a formula: the start of a cell, and after a semicolon, which separates
 * cells in some locales. Full-width signs begin a formula, too.
 */
const FORMULA = /(^|[;\t\r\n])(?=[=+\-@\t\r＝＋－＠])/g;

/** Returns a line of RFC 4180. An apostrophe before a formula makes spreadsheets show it as text. */
export function toCsvLine(values: readonly string[]): string {
  const cells = values.map((value) => `"${value.replace(FORMULA, "$1'").replaceAll('"', '""')}"`);
  return `${cells.join(',')}\r\n`;
}
