/** Reads attendees from lines that people paste: CSV, or the tabs of a spreadsheet. */
import { ServiceError } from '../../../domain/core/errors.ts';
import { check } from '../../../domain/core/validation.ts';
import { attendeeRules } from '../../../domain/events/attendee.ts';

export interface AttendeeLine {
  readonly number: number;
  readonly text: string;
  readonly attendeeId: string;
  readonly label: string;
  /** Why the line is refused. Empty or absent if it is not. */
  readonly problem?: string;
}

interface AttendeeLines {
  /** The first line, if it names the columns. */
  readonly heading: AttendeeLine | undefined;
  readonly lines: readonly AttendeeLine[];
}

const SHOWN_CHARACTERS = 100;
/** How many lines are searched for the end of a quote. */
const MAX_QUOTED_LINES = 20;

/** In this order: a line with a tab is of a spreadsheet, and what it has else is text. */
const SEPARATORS = { '\t': 'tab', ';': 'semicolon', ',': 'comma' } as const;
type Separator = keyof typeof SEPARATORS;

/** What has no width, and what changes the direction of text: copies from spreadsheets, pages and chats have them. */
const INVISIBLE = '\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff';
const INVISIBLE_CHARACTER = new RegExp(`[${INVISIBLE}]`, 'u');
const ENDS = new RegExp(`^[\\s${INVISIBLE}]+|[\\s${INVISIBLE}]+$`, 'gu');

/** Names of columns in some languages, without what is between their words. */
const ID_NAMES =
  /^((attendee|guest|ticket|order|booking|gäste|teilnehmer)?(id|code|number|no|nr|nummer|kennung)|ticket|barcode|qrcode|billet|identifiant|numéro|numero|número|codice|código)$/iu;
const LABEL_NAMES =
  /^((full|display|guest|attendee)?name|label|attendee|guest|gast|teilnehmer|teilnehmerin|nom|nombre|nome|naam|navn|namn|imię|nimi)$/iu;

/** Returns the lines that are not empty. An ID that comes twice is refused where it comes again. */
export function readAttendeeLines(text: string, { mayHaveHeading = true } = {}): AttendeeLines {
  const all = text.split(/\r\n|\r|\n/).map((line) => line.replace(/^\ufeff+/u, ''));
  // Spreadsheets write it for themselves.
  const [first = ''] = mayHaveHeading ? all : [];
  const declared = /^"?sep=([\t;,])"?$/iu.exec(first)?.[1] as Separator | undefined;
  const separator = declared ?? findSeparator(all);
  const lines: AttendeeLine[] = [];
  const firstLines = new Map<string, number>();
  let heading: AttendeeLine | undefined;
  // Equivalent: comparison: beyond the last line, there is an empty one
  for (let index = declared ? 1 : 0; index < all.length; index++) {
    const line = all[index] ?? '';
    if (line.replace(ENDS, '') === '') continue;
    const number = index + 1;
    const cells = splitLine(line, separator);
    if (mayHaveHeading && !heading && lines.length === 0 && isHeading(cells)) {
      heading = { number, text: line.slice(0, SHOWN_CHARACTERS), ...toAttendee(cells) };
      continue;
    }
    const { attendeeId, label } = toAttendee(cells, isReversed(heading));
    const last = cells ? index : findEndOfQuote(all, index, separator);
    const firstLine = firstLines.get(attendeeId);
    const problem = cells
      ? problemOfCells(line, cells, separator) ||
        problemOf(attendeeId, label) ||
        (firstLine === undefined ? '' : `has the ID of line ${firstLine}`)
      : describeQuote(last, index);
    if (firstLine === undefined) firstLines.set(attendeeId, number);
    lines.push({ number, text: line.slice(0, SHOWN_CHARACTERS), attendeeId, label, problem });
    index = last;
  }
  return { heading, lines };
}

/** Returns the separator of the first line that has one outside of quotes. A tab in any line comes first. */
export function findSeparator(lines: readonly string[]): Separator {
  if (lines.some((line) => line.includes('\t'))) return '\t';
  const [separator = ','] = lines.map((line) => /[,;]/.exec(line.replace(/"(?:[^"]|"")*"/g, ''))).find(Boolean) ?? [];
  return separator as Separator;
}

/** Returns undefined for a line with a quote that does not end its cell. A cell in quotes has two quotes for one. */
export function splitLine(line: string, separator: Separator): string[] | undefined {
  const pad = `[ \u00a0${INVISIBLE}]*`;
  const cell = new RegExp(`(?:${pad}"((?:[^"]|"")*)"${pad}|(?!${pad}")([^${separator}]*))(${separator}|$)`, 'uy');
  const cells: string[] = [];
  for (;;) {
    const found = cell.exec(line);
    if (!found) return undefined;
    const [, quoted, plain = '', end] = found;
    cells.push((quoted?.replaceAll('""', '"') ?? plain).replace(ENDS, ''));
    if (!end) return cells;
  }
}

/** Returns the index of the line that closes the quote, or of the line itself if none does. */
function findEndOfQuote(lines: readonly string[], from: number, separator: Separator): number {
  for (let to = from + 1; to < Math.min(lines.length, from + MAX_QUOTED_LINES); to++) {
    if (splitLine(lines.slice(from, to + 1).join('\n'), separator)) return to;
  }
  return from;
}

function describeQuote(last: number, index: number): string {
  if (last > index) return `has a quote that line ${last + 1} closes; put each attendee on one line`;
  return 'has a quote that does not close, or text after one; write two quotes for one in a cell in quotes';
}

function isHeading(cells: readonly string[] | undefined): boolean {
  if (!cells || cells.length > 2) return false;
  const [first = '', second = ''] = cells.map(toColumnName);
  return (ID_NAMES.test(first) && (second === '' || LABEL_NAMES.test(second))) || isReversedPair(first, second);
}

const toColumnName = (cell: string) => cell.replace(/[\s._#:-]+/gu, '');
const isReversedPair = (first: string, second: string) => LABEL_NAMES.test(first) && ID_NAMES.test(second);

/** Whether the heading names the name before the ID. */
function isReversed(heading: AttendeeLine | undefined): boolean {
  return heading !== undefined && isReversedPair(toColumnName(heading.attendeeId), toColumnName(heading.label));
}

function toAttendee(cells: readonly string[] = [], isReversed = false) {
  const [first = '', second = ''] = cells;
  return isReversed ? { attendeeId: second, label: first } : { attendeeId: first, label: second };
}

function problemOfCells(line: string, [, ...others]: readonly string[], separator: Separator): string {
  const name = SEPARATORS[separator];
  if (others.slice(1).some((each) => each !== ''))
    return `has more than an ID and a name; put a name with a ${name} in quotes`;
  const other = others.length === 0 && (Object.keys(SEPARATORS) as Separator[]).find((each) => splits(line, each));
  return other ? `has a ${SEPARATORS[other]} and no ${name}, as other lines have` : '';
}

const splits = (line: string, separator: Separator) => (splitLine(line, separator)?.length ?? 0) > 1;

function problemOf(attendeeId: string, label: string): string {
  const [invisible] = INVISIBLE_CHARACTER.exec(attendeeId) ?? [];
  if (invisible) {
    const code = invisible.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
    return `The ID has an invisible character, U+${code}, that no scanner would find`;
  }
  try {
    check({ attendeeId, label }, attendeeRules);
    return '';
  } catch (error) {
    // Equivalent: guard: a check throws nothing else
    if (!(error instanceof ServiceError)) throw error;
    const names: Readonly<Record<string, string>> = { attendeeId: 'The ID', label: 'The name' };
    return error.violations.map(({ field, message }) => `${names[field] ?? field} ${message}`).join('; ');
  }
}
