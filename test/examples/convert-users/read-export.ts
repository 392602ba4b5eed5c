/** Reads exports of other products. Errors have one line, and quote nothing of the file: it holds personal data. */
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isObject, parseObject } from '../../../src/encoding/json.ts';

export type Row = Readonly<Record<string, unknown>>;

/** In characters. A file without line ends is another format, and must not fill the memory. */
const MAX_LINE_LENGTH = 4_000_000;
/** A field of CSV after its comma, in quotes or without. */
const FIELD = /,(?:"([^"]*(?:""[^"]*)*)"|([^,"]*))/g;

export async function* readJsonLines(path: string): AsyncGenerator<Row> {
  let number = 0;
  for await (const line of readLines(path)) {
    number++;
    if (line.trim() === '') continue;
    const row = parseObject(line);
    if (!row) throw new Error(`Line ${number} of the file is no JSON object`);
    yield row;
  }
}

/** Yields rows by the names in the first line, which has the required one. A field in quotes may have line ends. */
export async function* readCsv(path: string, required = ''): AsyncGenerator<Row> {
  let columns: string[] | undefined;
  let record = '';
  let isInQuotes = false;
  for await (const line of readLines(path)) {
    record += line;
    if (line.split('"').length % 2 === 0) isInQuotes = !isInQuotes;
    if (isInQuotes) {
      record += '\n';
      if (record.length > MAX_LINE_LENGTH) break;
      continue;
    }
    const fields = readFields(record);
    if (columns === undefined) {
      if (required !== '' && !fields.includes(required)) throw new Error(`The CSV has no column ${required}`);
      columns = fields;
    } else if (record !== '') yield Object.fromEntries(columns.map((name, at) => [name, fields[at] ?? '']));
    record = '';
  }
  if (isInQuotes) throw new Error('A quote in the CSV does not end');
  if (!columns) throw new Error('The file is empty');
}

function readFields(record: string): string[] {
  return [...`,${record}`.matchAll(FIELD)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '');
}

/** Reads an array, or that in the field `users` of an object or of its `data`, as a whole: JSON needs it. */
export async function* readJson(path: string): AsyncGenerator<Row> {
  const json = toJson(await readFile(path, 'utf8'));
  const rows = isObject(json) ? (json.users ?? (isObject(json.data) ? json.data.users : undefined)) : json;
  if (!Array.isArray(rows) || !rows.every(isObject)) throw new Error('The file is no JSON with a list of users');
  yield* rows;
}

/** Returns whether the file is one JSON value, a JSON object per line, or something else. */
export async function formatOf(path: string): Promise<'json' | 'lines' | 'csv'> {
  for await (const chunk of createReadStream(path, 'utf8')) {
    const text = String(chunk).replace(/^[\uFEFF\s]+/, '');
    const [line = '', ...more] = text.split('\n', 2);
    if (text.startsWith('{') && (more.length === 0 || line.trimEnd().endsWith('}'))) return 'lines';
    return /^[[{]/.test(text) ? 'json' : 'csv';
  }
  return 'csv';
}

function toJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

/** Not with `readline`, which also ends lines at U+2028, and JSON may have that in texts. */
async function* readLines(path: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(path, 'utf8')) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_LENGTH) throw new Error('The file has a line that is too long');
    for (const line of lines) yield trimLine(line);
  }
  if (rest !== '') yield trimLine(rest);
}

/** Without the byte order mark that Excel writes, and the CR of Windows. */
const trimLine = (line: string) => line.replace(/^\uFEFF|\r$/g, '');
