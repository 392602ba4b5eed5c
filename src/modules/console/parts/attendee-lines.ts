/** Reads attendees from lines that people paste: CSV, or the tabs of a spreadsheet. */
import { ServiceError } from '../../../domain/core/errors.ts';
import { check } from '../../../domain/core/validation.ts';
import { attendeeRules } from '../../../domain/events/attendee.ts';

export interface AttendeeLine {
  readonly number: number;
  readonly text: string;
  readonly attendeeId: string;
  readonly label: string;
  /** Why the line is refused. */
  readonly problem?: string;
}

const SHOWN_CHARACTERS = 100;

/** Returns the lines that are not empty. An ID that comes twice is refused where it comes again. */
export function readAttendeeLines(text: string): readonly AttendeeLine[] {
  const firstLines = new Map<string, number>();
  return text.split(/\r\n|\r|\n/).flatMap((line, index) => {
    if (line.trim() === '') return [];
    const number = index + 1;
    const [attendeeId = '', label = '', ...others] = splitLine(line);
    const first = firstLines.get(attendeeId);
    if (first === undefined) firstLines.set(attendeeId, number);
    const problem =
      (others.some((each) => each !== '') ? 'has more than an ID and a name; put a name with commas in quotes' : '') ||
      problemOf(attendeeId, label) ||
      (first === undefined ? '' : `has the ID of line ${first}`);
    return [{ number, text: line.slice(0, SHOWN_CHARACTERS), attendeeId, label, ...(problem && { problem }) }];
  });
}

/** A line with a tab is of a spreadsheet: commas in it are text. A cell in quotes has two quotes for one. */
function splitLine(line: string): string[] {
  const separator = line.includes('\t') ? '\t' : ',';
  const cell = new RegExp(` *(?:"((?:[^"]|"")*)" *|([^${separator}]*))(${separator}|$)`, 'y');
  const cells: string[] = [];
  for (;;) {
    const [, quoted, plain = '', end] = cell.exec(line) ?? [];
    cells.push((quoted?.replaceAll('""', '"') ?? plain).trim());
    if (!end) return cells;
  }
}

function problemOf(attendeeId: string, label: string): string {
  try {
    check({ attendeeId, label }, attendeeRules);
    return '';
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const names: Readonly<Record<string, string>> = { attendeeId: 'The ID', label: 'The name' };
    return error.violations.map(({ field, message }) => `${names[field] ?? field} ${message}`).join('; ');
  }
}
