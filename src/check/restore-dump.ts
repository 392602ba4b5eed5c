/** Restores a dump of `pg_dump`, without `psql`, which the embedded Postgres does not bring. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { openClient } from '../database/connection/open-client.ts';
import type { PostgresClient } from '../database/sql/driver.ts';

/** The beginning of a file of the custom format. */
const CUSTOM = 'PGDMP';
/** The last comment of a dump in plain SQL. `pg_restore` writes it, too. */
const COMPLETE = '-- PostgreSQL database dump complete';
const IS_COPY = /^COPY .* FROM stdin;$/;
const END_OF_COPY = '\\.';

/** Concerns roles and extensions that only the other server has. */
const IS_LEFT_OUT =
  /^(?:GRANT|REVOKE|ALTER DEFAULT PRIVILEGES|CREATE EXTENSION|COMMENT ON (?:EXTENSION|SCHEMA)) .*;$|^ALTER .* OWNER TO .*;$/;

/**
 * Restores the dump into an empty database. The role of the URL should be no superuser: a dump is a program.
 *
 * @throws Error whose message continues the name of the file
 */
export async function restoreDump(url: string, file: string): Promise<void> {
  // postgres.js would send what follows the rows while it sends the rows. Its types lack the option.
  const inTurn: object = { max_pipeline: 0 };
  const client = openClient(url, { max: 1, onnotice: () => {}, prepare: false, ...inTurn });
  try {
    await restore(client, file);
  } finally {
    await client.end({ timeout: 1 });
  }
}

async function restore(client: PostgresClient, file: string): Promise<void> {
  const { source, ended } = await openDump(file);
  let statements = '';
  let copy: Copy | undefined;
  let isComplete = false;
  const flush = async () => {
    // The lines were read as bytes.
    if (statements !== '') await client.unsafe(Buffer.from(statements, 'latin1').toString());
    statements = '';
  };
  // Postgres refuses what follows an error, so that none is missed.
  await client.unsafe('begin');
  for await (const line of readLines(source)) {
    isComplete ||= line === COMPLETE;
    if (copy && line === END_OF_COPY) {
      await copy.end();
      copy = undefined;
    } else if (copy) {
      await copy.write(line);
    } else if (IS_COPY.test(line)) {
      await flush();
      copy = await startCopy(client, line.slice(0, -1));
    } else if (!line.startsWith('\\') && !IS_LEFT_OUT.test(line)) {
      statements += `${line}\n`;
    }
  }
  await ended;
  if (copy || !isComplete) throw new Error('is truncated, or no dump of pg_dump');
  await flush();
  await client.unsafe('commit');
}

interface Copy {
  write(line: string): Promise<void>;
  end(): Promise<void>;
}

/** Sends rows. If Postgres refuses one, postgres.js may tell it as late as the next statement. */
async function startCopy(client: PostgresClient, statement: string): Promise<Copy> {
  const rows: Writable = await client.unsafe(statement).writable();
  let failure: Error | undefined;
  rows.on('error', (error) => {
    failure ??= error;
  });
  const requireNone = () => {
    if (failure) throw failure;
  };
  return {
    async write(line) {
      requireNone();
      // An error of the stream is noted above.
      if (!rows.write(`${line}\n`, 'latin1')) await once(rows, 'drain').catch(() => {});
    },
    async end() {
      requireNone();
      rows.end();
      // Runs after the rows, and fails if they do. The stream itself does not end then.
      await client`select`.catch(() => {
        requireNone();
        throw new Error(`cannot be restored: Postgres refuses the rows of ${statement.replace(/ FROM stdin$/, '')}`);
      });
    },
  };
}

interface OpenDump {
  /** The dump in plain SQL. */
  readonly source: Readable;
  /** Rejects if it could not be read to its end. */
  readonly ended: Promise<void>;
}

async function openDump(file: string): Promise<OpenDump> {
  const facts = await stat(file).catch((error) => {
    throw new Error(`cannot be read (${error.code})`);
  });
  if (facts.isFile() && facts.size === 0) throw new Error('is empty');
  if (facts.isFile() && (await readStart(file)) !== CUSTOM)
    return { source: createReadStream(file), ended: Promise.resolve() };
  const converter = spawn('pg_restore', ['--no-owner', '--no-privileges', '--file=-', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = Promise.all([once(converter, 'close'), text(converter.stderr)]).then(
    ([[exitCode], problem]) => {
      if (exitCode !== 0) throw new Error(`cannot be restored: ${problem.trim().split('\n').at(-1)}`);
    },
    ({ code }) => {
      throw new Error(
        `has a format that pg_restore reads, which cannot be run (${code}): install the client of Postgres`,
      );
    },
  );
  // It is awaited after the lines.
  ended.catch(() => {});
  return { source: converter.stdout, ended };
}

async function readStart(file: string): Promise<string> {
  await using handle = await open(file);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(CUSTOM.length));
  return buffer.toString('latin1', 0, bytesRead);
}

/** Yields lines of bytes, each byte as a character. */
async function* readLines(source: Readable): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of source.setEncoding('latin1')) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
