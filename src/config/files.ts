/** The files that settings name, and the directory of the data. */
import { randomUUID } from 'node:crypto';
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { link, mkdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

const CHUNK_BYTES = 64 * 1_024;
const MAX_BYTES = 16 * 1_024 * 1_024;

/** Returns the text of a file. */
export function readSettingFile(path: string): string {
  return readSettingBytes(path).toString();
}

/** Returns the bytes of a file. `/dev/zero` and the like have no end, so it reads a limited number of them. */
export function readSettingBytes(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let length = 0; ; ) {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      const size = readSync(file, chunk);
      if (size === 0) return Buffer.concat(chunks);
      length += size;
      if (length > MAX_BYTES) throw Object.assign(new Error(`${path} has more than 16 MiB`), { code: 'EFBIG' });
      chunks.push(chunk.subarray(0, size));
    }
  } finally {
    closeSync(file);
  }
}

/**
 * Creates the directory and its parents with mode 0700. Node's `recursive` never returns where the parent exists and
 * takes no directory, as in `/proc`: it creates the parent again and again.
 */
export async function createDirectory(path: string): Promise<void> {
  const [directory, parent] = [resolve(path), dirname(resolve(path))];
  const create = async () => {
    await mkdir(directory, { mode: 0o700 }).catch(async (error: Error) => {
      const isThere = hasCode(error, 'EEXIST') && (await stat(directory)).isDirectory();
      if (!isThere) throw error;
    });
  };
  try {
    await create();
  } catch (error) {
    if (!hasCode(error, 'ENOENT') || existsSync(parent)) throw error;
    await createDirectory(parent);
    await create();
  }
}

/** Reads the file, creating it atomically with mode 0600 if it does not exist. */
export async function readOrCreateFile(file: string, make: () => string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
  }
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, make(), { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, file);
  } catch (error) {
    // Another process has created the file meanwhile. Use the content of that process.
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await unlink(draft);
  }
  return readFile(file, 'utf8');
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
