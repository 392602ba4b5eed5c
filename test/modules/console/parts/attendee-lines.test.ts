/** Lines of attendees that people paste from spreadsheets, pages and chats. */
import { expect, test } from 'vitest';
import { type AttendeeLine, readAttendeeLines } from '../../../../src/modules/console/parts/attendee-lines.ts';

test('an empty paste is not stored', () => {
  expect(readAttendeeLines(' \n\r\n\ufeff').lines).toEqual([]);
});

const SPREADSHEETS = [
  ['semicolons', 'a-1;Lovelace, Ada\na-2;Hopper, Grace', ['a-1=Lovelace, Ada', 'a-2=Hopper, Grace']],
  ['a semicolon in a name', 'a-1,Ada; Countess\n"a;2","Grace"', ['a-1=Ada; Countess', 'a;2=Grace']],
  ['the first line of Excel', 'sep=;\r\na-1;Ada, Countess', ['a-1=Ada, Countess']],
  ['quotes after what has no width', 'a-1,\u200b"Ada, Countess"\u00a0', ['a-1=Ada, Countess']],
  ['a byte order mark', '\ufeffa-1;Ada\n\ufeff"a-2";Grace', ['a-1=Ada', 'a-2=Grace']],
] as const;

test.each(SPREADSHEETS)('pasted lines with %s are read', (_, text, attendees) => {
  expect(readAttendeeLines(text).lines.map(describeLine)).toEqual(attendees);
});

test('spaces without width go from the ends of cells, and an ID with one is refused', () => {
  const text = '\u200ba-1\u200b,\u200eAda\u202c\n\u2060a-2\u00a0,Zoë\u200d👩\u200d🚀\na\u200b-3,Eve';
  expect(readAttendeeLines(text).lines.map(describeLine)).toEqual([
    'a-1=Ada',
    'a-2=Zoë\u200d👩\u200d🚀',
    '3: The ID has an invisible character, U+200B, that no scanner would find',
  ]);
});

test.each([
  ['ID,Name\na-1,Ada', ['a-1=Ada']],
  ['\ufeffTicket-Nr.;Gast\na-1;Ada', ['a-1=Ada']],
  // Somebody who is called as a column is a guest below the heading.
  ['ID,Name\nID,Name', ['ID=Name']],
  ['Name,ID\nName,ID', ['ID=Name']],
  ['Full name\tAttendee ID\nAda\ta-1', ['a-1=Ada']],
  ['attendeeId\na-1', ['a-1']],
])('the heading of %j is left out', (text, attendees) => {
  const { heading, lines } = readAttendeeLines(text);
  expect([heading?.number, lines.map(describeLine)]).toEqual([
    1,
    attendees.map((each) => (each.includes('=') ? each : `${each}=`)),
  ]);
  expect(readAttendeeLines(text, { mayHaveHeading: false })).toMatchObject({ lines: [{ number: 1 }, { number: 2 }] });
});

test.each([
  ['a-1,Ada\nID,Name', ['a-1=Ada', 'ID=Name']],
  ['a-1,Name', ['a-1=Name']],
  ['ID,Ada', ['ID=Ada']],
  ['Name,Ada', ['Name=Ada']],
  ['Name', ['Name=']],
  ['a-1,ID', ['a-1=ID']],
  ['ID,Name,E-mail\na-1', ['1: has more than an ID and a name', 'a-1=']],
])('the first line of %j is no heading unless it names an ID, and nothing but a name beside it', (text, lines) => {
  const read = readAttendeeLines(text);
  expect(read.heading).toBeUndefined();
  expect(read.lines.map(describeLine)).toEqual(lines.map(toExpected));
});

test.each([
  ['a-1\na-1\na-1', ['a-1=', '2: has the ID of line 1', '3: has the ID of line 1']],
  ['a-1,Ada,Lovelace,', ['1: has more than an ID and a name']],
  ['a-1,Ada,,', ['a-1=Ada']],
  ['..,Dots\n,Nobody', ['1: The ID must not be . or ..', '2: The ID']],
  // A tab in any line says that all are of a spreadsheet.
  ['a-1,Ada\na-2\tGrace', ['1: has a comma and no tab, as other lines have', 'a-2=Grace']],
  ['a-1;"Ada";x\na-2', ['1: has more than an ID and a name; put a name with a semicolon in quotes', 'a-2=']],
  [`a-1,"Ada${'\n'.repeat(19)}"\na-2`, ['1: has a quote that line 20 closes', 'a-2=']],
  [`a-1,"Ada${'\n'.repeat(20)}"\na-2`, ['1: has a quote that does not close', '21: has a quote', 'a-2=']],
  ['a-1,"Ada\na-2,Grace', ['1: has a quote that does not close', 'a-2=Grace']],
  ['a-1,"Ada\nLovelace"\na-2,Grace', ['1: has a quote that line 2 closes', 'a-2=Grace']],
  ['a-1,Ada\na-2, "Grace', ['a-1=Ada', '2: has a quote that does not close']],
  ['"a-1" x,Ada\na-2,Grace', ['1: has a quote that does not close, or text after one', 'a-2=Grace']],
  ['a-1;Ada\na-2,Grace\na-3', ['a-1=Ada', '2: has a comma and no semicolon, as other lines have', 'a-3=']],
  ['a-1;Ada;Lovelace', ['1: has more than an ID and a name; put a name with a semicolon in quotes']],
])('the lines of %j that cannot be understood are refused with their number', (text, lines) => {
  const read = readAttendeeLines(text).lines.map(describeLine);
  expect(read).toEqual(lines.map(toExpected));
});

test('a long line is shown by its first 100 characters', () => {
  const long = 'x'.repeat(150);
  const { heading, lines } = readAttendeeLines(`ID, Name${' '.repeat(150)}\n${long}`);
  expect([heading?.text.length, lines[0]?.text.length, lines[0]?.attendeeId.length]).toEqual([100, 100, 150]);
});

test('long lines of quotes are refused, and keep nobody waiting', () => {
  const read = (length: number) => readAttendeeLines(`a,${'"'.repeat(length)}x\n`.repeat(3)).lines;
  for (const length of [60_000, 60_001]) expect(read(length)).toHaveLength(3);
});

const toExpected = (line: string) => (/^\d+: /.test(line) ? expect.stringContaining(line) : line);

const describeLine = ({ number, attendeeId, label, problem }: AttendeeLine) =>
  problem ? `${number}: ${problem}` : `${attendeeId}=${label}`;
