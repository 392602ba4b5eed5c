/** Files of people for an import. */
import { expect, test } from 'vitest';
import { type PersonLine, readPeopleLines } from '../../../../src/modules/console/parts/people-lines.ts';

const describeLine = ({ number, person, problem }: PersonLine) => [number, person ?? problem];
const read = (text: string) => readPeopleLines(text).map(describeLine);

test.each([
  ['nothing', '\ufeff\r\n \n', []],
  [
    'columns in another order, some of them not known',
    'Full name;Shoe size;E-mail;Groups\r\nAda;39;ada@example.com;editors staff|all\r\n\r\n;40;grace@example.com;\r\n',
    [
      [2, { name: 'Ada', email: 'ada@example.com', groups: ['editors', 'staff', 'all'] }],
      [4, { email: 'grace@example.com' }],
    ],
  ],
  [
    'a line with fewer cells, and one with a quote that does not close',
    'email,name\nada@example.com\n"grace@example.com,Grace\njoan@example.com,Joan',
    [
      [2, { email: 'ada@example.com' }],
      [3, 'has a quote that does not close'],
      [4, { email: 'joan@example.com', name: 'Joan' }],
    ],
  ],
  ['no column of addresses', 'name\nAda', [[1, 'must name the columns, one of them email']]],
  [
    'JSON lines, of which some are other JSON or none',
    '\n {"email":"ada@example.com"}\n["grace@example.com"]\n"joan@example.com"\nnull\n{"email":\n',
    [
      [2, { email: 'ada@example.com' }],
      [3, 'is no JSON object'],
      [4, 'is no JSON object'],
      [5, 'is no JSON object'],
      [6, 'is no JSON object'],
    ],
  ],
])('a file with %s', (_, text, lines) => expect(read(text)).toEqual(lines));

test('a long line is shown by its first 100 characters', () => {
  const long = 'x'.repeat(150);
  for (const text of [`email\n${long}`, `{}\n${long}`, `{"email":"${long}"}`])
    expect(readPeopleLines(text).at(-1)?.text).toHaveLength(100);
});
