/** The spellings of an e-mail address that are one address, and those that are none. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalizeDomain, canonicalizeEmail, listSpellings, showEmail } from '../../src/config/email-address.ts';

const A_LABEL = 'ada@xn--bcher-kva.example';
const SPELLINGS = [
  A_LABEL,
  'ada@bücher.example',
  'ada@bu\u0308cher.example',
  'ada@BÜCHER.EXAMPLE',
  'ada@BU\u0308CHER.Example',
  'ada@bücher\u3002example',
  'ada@bü\u00adcher.example',
  'ada@bücher.example.',
  'ada@ｂücher.example',
];

test.each(SPELLINGS)('%s is the address with an A-label', (spelling) => {
  expect(canonicalizeEmail(spelling)).toBe(A_LABEL);
  expect(canonicalizeDomain(spelling.slice(4))).toBe(A_LABEL.slice(4));
});

test.each(['Ada@Example.COM', 'ada@XN--BCHER-KVA.example', 'a@b', 'ada@xn--zzzzzz.test', "o'hara+x@a_b.test"])(
  '%s is not changed',
  (email) => {
    expect(canonicalizeEmail(email)).toBe(email);
  },
);

test.each([
  ['a zero-width space', 'a\u200bda@example.com'],
  ['a soft hyphen', 'a\u00adda@example.com'],
  ['a right-to-left override', '\u202eada@example.com'],
  ['a variation selector', 'ada\ufe0f@example.com'],
  ['a Hangul filler', 'ada\u3164@example.com'],
  ['a tag', 'ada\u{e0061}@example.com'],
  ['a Kelvin sign, which lower() may turn into k', '\u212aate@example.com'],
  ['a dotted capital I, which lower() may turn into i', '\u0130da@example.com'],
  ['a dotted capital I in two characters', 'I\u0307da@example.com'],
  ['a Greek question mark, which is a semicolon in NFC', 'ada\u037e@example.com'],
  ['a domain that is none', 'ada@bü\u200dcher.example'],
  ['a domain with a slash', 'ada@bücher.example/evil.example'],
  ['a domain with an escape', 'ada@b%FCcher.exämple'],
  ['a domain with a colon', 'ada@bücher.example:80'],
  ['a domain that is only a dot', 'ada@\u3002'],
  ['an address of IPv4', 'ada@１２７.0.0.1'],
  ['a domain that is too long', `ada@${'ü'.repeat(240)}.example`],
])('an address with %s is refused', (_, email) => {
  expect(canonicalizeEmail(email)).toBeUndefined();
});

test('letters beyond ASCII in the local part are one letter in any case, composed or not', () => {
  for (const local of ['günther', 'GÜNTHER', 'gu\u0308nther'])
    expect(canonicalizeEmail(`${local}@example.com`)?.toLowerCase()).toBe('günther@example.com');
});

describe('a canonical address', () => {
  const anyEmail = fc
    .tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.domain())
    .map(([local, domain]) => `${local}@${domain}`);
  const anyDomain = fc.string({ unit: 'grapheme', minLength: 1 }).map((label) => `ada@${label}.example`);

  test('is canonical itself, and shown in a form that leads back to it', () => {
    fc.assert(
      fc.property(fc.oneof(anyEmail, anyDomain), (email) => {
        const canonical = canonicalizeEmail(email);
        if (canonical === undefined) return;
        expect(canonicalizeEmail(canonical)).toBe(canonical);
        const shown = canonicalizeEmail(showEmail(canonical));
        if (shown !== undefined) expect(shown.toLowerCase()).toBe(canonical.toLowerCase());
        expect(listSpellings(email)[0]).toBe(canonical.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));
      }),
      { seed: 1 },
    );
  });
});

test('an address is shown in Unicode', () => {
  expect(showEmail(A_LABEL)).toBe('ada@bücher.example');
  expect(showEmail('Ada@Example.com')).toBe('Ada@Example.com');
  expect(showEmail('ada@xn--zzzzzz.test')).toBe('ada@xn--zzzzzz.test');
});

test('the spellings of rows from before are found: composed, decomposed, in capitals and as given', () => {
  expect(listSpellings('Ada@Example.com')).toEqual(['ada@example.com']);
  const all = listSpellings(A_LABEL);
  for (const spelling of [A_LABEL, 'ada@bücher.example', 'ada@bu\u0308cher.example', 'ada@bÜcher.example'])
    expect(all).toContain(spelling);
  expect(listSpellings('\u212aate@example.com')).toEqual(['\u212aate@example.com']);
});
