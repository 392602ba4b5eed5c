/** Reads people from a file: JSON lines as an import takes them, or CSV with a heading. */
import { isObject } from '../../../encoding/json.ts';
import { findSeparator, splitLine } from './attendee-lines.ts';

export interface PersonLine {
  readonly number: number;
  readonly text: string;
  /** The fields of `UserToCreate`. Undefined if the line is refused. */
  readonly person?: Readonly<Record<string, unknown>>;
  readonly problem?: string | undefined;
}

const SHOWN_CHARACTERS = 100;

/** Names of columns as people write them, without spaces and signs. */
const COLUMNS: readonly (readonly [RegExp, string])[] = [
  [/^(e?mail|e?mailaddress|adresse?|emailadresse|correo)$/i, 'email'],
  [/^(full|display)?name$/i, 'name'],
  [/^(external)?id$/i, 'externalId'],
  [/^wallet(address)?$/i, 'walletAddress'],
  [/^(profile)?image$/i, 'profileImage'],
  [/^groups?$/i, 'groups'],
];

/** Groups stand in one cell, with a space or a vertical line between them. */
const BETWEEN_GROUPS = /[\s|]+/;

export function readPeopleLines(text: string): PersonLine[] {
  const lines = text
    .replace(/^\ufeff/u, '')
    .split(/\r\n|\r|\n/)
    .map((line, index) => ({ number: index + 1, text: line.trim() }))
    .filter((line) => line.text !== '');
  const isJson = lines[0]?.text.startsWith('{');
  return isJson ? lines.map(readJsonLine) : readCsv(lines);
}

type Line = Pick<PersonLine, 'number' | 'text'>;

function readJsonLine({ number, text }: Line): PersonLine {
  const shown = { number, text: text.slice(0, SHOWN_CHARACTERS) };
  try {
    const person: unknown = JSON.parse(text);
    if (isObject(person)) return { ...shown, person: person as Record<string, unknown> };
  } catch {
    // The answer is the same as for other JSON.
  }
  return { ...shown, problem: 'is no JSON object' };
}

function readCsv([heading, ...lines]: readonly Line[]): PersonLine[] {
  if (!heading) return [];
  const separator = findSeparator([heading.text]);
  const names = (splitLine(heading.text, separator) ?? []).map(
    (cell) => COLUMNS.find(([pattern]) => pattern.test(cell.replace(/[\s._-]+/g, '')))?.[1],
  );
  if (!names.includes('email')) {
    return [{ ...heading, problem: 'must name the columns, one of them email' }];
  }
  return lines.map(({ number, text }) => {
    const shown = { number, text: text.slice(0, SHOWN_CHARACTERS) };
    const cells = splitLine(text, separator);
    if (!cells) return { ...shown, problem: 'has a quote that does not close' };
    const pairs = names.flatMap((name, at) => {
      const value = cells[at] ?? '';
      if (name === undefined || value === '') return [];
      return [[name, name === 'groups' ? value.split(BETWEEN_GROUPS) : value] as const];
    });
    return { ...shown, person: Object.fromEntries(pairs) };
  });
}
