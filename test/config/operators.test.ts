/** The lines of OPERATORS_FILE. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createOperatorCheck, createPasskeyDemand, parseOperators } from '../../src/config/operators.ts';
import { createDirectory } from '../support/directory.ts';

const ID = '018f2c7e-5a31-7c1e-9a57-2f8b1d3c4e60';
const OTHER = '018f2c7e-5a31-7c1e-9a57-2f8b1d3c4e61';

test('an operator has a role, a team its applications, and either may need a passkey', () => {
  const operators = parseOperators(`# who, role

Ada@example.com   admin
grace@example.com support passkey
vera@example.com\tviewer\r
linus@example.com team ${ID}
Linus@example.com team ${OTHER.toUpperCase()} passkey
`);
  expect([...operators.keys()]).toEqual([
    'ada@example.com',
    'grace@example.com',
    'vera@example.com',
    'linus@example.com',
  ]);
  expect(operators.get('ada@example.com')).toEqual({
    email: 'Ada@example.com',
    role: 'admin',
    applicationIds: [],
    mayRecover: true,
    needsPasskey: false,
  });
  expect(operators.get('grace@example.com')).toMatchObject({ role: 'support', needsPasskey: true });
  expect(operators.get('linus@example.com')).toMatchObject({
    role: 'team',
    applicationIds: [ID, OTHER],
    needsPasskey: true,
  });
});

test.each([
  ['admin', true],
  ['admin recover', true],
  ['support', false],
  ['support recover passkey', true],
  ['viewer recover', true],
  ['viewer passkey', false],
  [`team ${ID}`, false],
])('whether %s may make recovery links: %s', (words, mayRecover) => {
  expect(parseOperators(`ada@example.com ${words}\n`).get('ada@example.com')).toMatchObject({ mayRecover });
});

test('an address may be in Unicode, and is found in every spelling of its domain', () => {
  const operators = parseOperators('Ada@BÜCHER.example admin\n');
  expect(operators.get('ada@xn--bcher-kva.example')).toMatchObject({ email: 'Ada@BÜCHER.example', role: 'admin' });
  expect(() => parseOperators('ada@bücher.example admin\nada@xn--bcher-kva.example viewer\n')).toThrow(
    'line 2 repeats',
  );
});

test.each([
  ['no role', 'ada@example.com'],
  ['an unknown role', 'ada@example.com root'],
  ['no address', 'ada admin'],
  ['two addresses', 'ada@example.com eve@example.com admin'],
  ['a team without an application', 'ada@example.com team'],
  ['a team with no ID', 'ada@example.com team shop'],
  ['an admin of one application', `ada@example.com admin ${ID}`],
  ['a team that recovers', `ada@example.com team ${ID} recover`],
  ['words in another order', 'ada@example.com support passkey recover'],
  ['more behind it', 'ada@example.com admin passkey please'],
])('a line with %s is refused by its number, without its text', (_, line) => {
  expect(() => parseOperators(`vera@example.com viewer\n${line}\n`)).toThrow(/^line 2 (?!.*ada)/);
});

test.each([
  ['twice', 'ada@example.com admin\nADA@example.com viewer'],
  ['as a team, too', `ada@example.com admin\nada@example.com team ${ID}`],
])('an operator whom two lines name %s is refused', (_, text) => {
  expect(() => parseOperators(`${text}\n`)).toThrow('line 2 repeats the operator of an earlier line');
});

test.each([
  'ada@example.com admin',
  'grace@example.com viewer\nada@example.com admin pass',
  'grace@example.com viewer\nada@example.com admin',
  'grace@example.com viewer\r\nada@example.com admin\r',
  'ada@example.com admin\n# ',
])('a file that was cut in a line is refused: %j', (text) => {
  expect(() => parseOperators(text)).toThrow('must end with a line end: its last line may be incomplete');
});

test('the demand of a passkey holds while somebody writes the file', async () => {
  const operatorsFile = join(await createDirectory(), 'operators');
  const lines = 'vera@example.com viewer\nada@example.com admin passkey\n';
  const demands = createPasskeyDemand({ operators: parseOperators(lines), operatorsFile });
  for (const text of [lines.slice(0, -9), lines, lines.slice(0, 24), lines, 'nonsense\n', '']) {
    await writeFile(operatorsFile, text);
    expect([demands('Ada@example.com'), demands('vera@example.com')], text).toEqual([true, false]);
  }
  await writeFile(operatorsFile, 'ada@example.com admin\n');
  expect([demands('ada@example.com'), demands('ada@example.com')]).toEqual([true, false]);
});

test('a file that names nobody is refused', () => {
  expect(() => parseOperators('# nobody\n')).toThrow('must name an operator');
});

test('only ASCII letters have two cases: the lower case of the Kelvin sign is no k', () => {
  const operators = parseOperators('frank@example.com admin\n');
  expect(operators.has('fran\u212a@example.com'.toLowerCase())).toBe(true);
  expect(parseOperators('fran\u212a@example.com admin\n').has('frank@example.com')).toBe(false);
});

test.each([
  ['the operator of an embedded trial', {}, 'Operator@example.com', true],
  ['anybody else in a trial', {}, 'ada@example.com', false],
  ['that address with a database of its own', { databaseUrl: 'postgres://db/usher' }, 'operator@example.com', false],
  [
    'that address in a trial with a file',
    { operators: parseOperators('ada@example.com admin\n') },
    'operator@example.com',
    false,
  ],
] as const)('recovery links ask about %s', (_, settings, email, expected) => {
  expect(createOperatorCheck(settings)(email)).toBe(expected);
});
