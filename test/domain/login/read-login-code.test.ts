import { describe, expect, it } from 'vitest';
import { check } from '../../../src/domain/core/validation.ts';
import { enteredCode, readLoginCode } from '../../../src/domain/login/read-login-code.ts';

describe('reads 123456 from', () => {
  it.each([
    '123456',
    '  123 456 ',
    '123-456',
    '123\u2011456',
    '12\u00a034\u202f56',
    '1 2 3 4 5 6',
    'Your code is 123 456!',
    '123456 is your code for Shop. Valid for: 10 minutes.',
    'code123456.',
    'Code: 123456\n\n2026, Shop 24/7: 123456',
    '\u2068123456\u2069',
    '\u200e123\u200f456',
    '１２３４５６',
    '١٢٣٤٥٦',
    '۱۲۳-۴۵۶',
    '𝟏𝟐𝟑𝟜𝟝𝟞',
    '12٣۴५६',
  ])('%j', (text) => {
    expect(readLoginCode(text)).toBe('123456');
  });

  it.each(decimalSystems())('the digits of %s', (system) => {
    const digits = new Intl.NumberFormat(`en-u-nu-${system}`, { useGrouping: false }).format(123456);
    expect(readLoginCode(digits)).toBe('123456');
  });
});

it.each([
  ['12345678', '12345678'],
  ['1234 5678', '12345678'],
  ['0', ''],
  ['12345', ''],
  ['1234567', ''],
  ['0123456', ''],
  ['123456789', ''],
  ['', ''],
  ['none', ''],
  ['123456, 654321', ''],
  ['123456 or 12345678', ''],
  ['一二三四五六', ''],
])('reads %j as %j', (text, code) => {
  expect(readLoginCode(text)).toBe(code);
});

it('accepts a text of a thousand characters', () => {
  const enter = (length: number) => check({ code: '1'.repeat(length) }, { code: enteredCode });
  expect(enter(1_000).code).toHaveLength(1_000);
  expect(() => enter(1_001)).toThrow();
});

/** The systems of the platform that write numbers with ten digits. */
function decimalSystems(): string[] {
  const systems = Intl.supportedValuesOf('numberingSystem');
  const decimal = systems.filter((system) =>
    /^\p{Nd}+$/u.test(new Intl.NumberFormat(`en-u-nu-${system}`, { useGrouping: false }).format(1234567890)),
  );
  if (decimal.length < 50) throw new Error('The platform has few numbering systems');
  return decimal;
}
