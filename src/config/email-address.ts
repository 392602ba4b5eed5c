/**
 * One spelling for all spellings of an e-mail address. Browsers send `ada@xn--bcher-kva.example` for
 * `ada@bücher.example`, and other callers send either, so Usher stores and compares domains as A-labels (UTS 46).
 *
 * ASCII stays as it is, in any case. Statements lower its letters: `lower(email collate "C")`.
 */
import { domainToASCII, domainToUnicode } from 'node:url';

const ASCII_ONLY = /^[\0-\x7f]*$/;
/** What DNS accepts, and `_`. Node also parses ports, paths and escapes, which must not get that far. */
const A_LABELS = /^[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/i;
const IPV4 = /(?:^|\.)\d+$/;
/** Characters that are not shown, or change how others are shown. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/u;
const MAX_DOMAIN_LENGTH = 253;
const MAX_LENGTH = 254;

/** Returns the domain as A-labels, or undefined if it is none. A domain in ASCII stays as it is. */
export function canonicalizeDomain(domain: string): string | undefined {
  if (ASCII_ONLY.test(domain)) return domain;
  // ASCII that no domain has, before Node interprets it.
  if (/[^\w.\u0080-\u{10ffff}-]/u.test(domain)) return undefined;
  const labels = domainToASCII(domain).replace(/\.$/, '');
  return A_LABELS.test(labels) && !IPV4.test(labels) && labels.length <= MAX_DOMAIN_LENGTH ? labels : undefined;
}

/**
 * Returns the spelling that is stored, or undefined for an address that nobody should have: with invisible characters,
 * or with letters that a database may take for ASCII letters of another address.
 */
export function canonicalizeEmail(email: string): string | undefined {
  if (ASCII_ONLY.test(email)) return email;
  const at = email.lastIndexOf('@');
  if (at < 0) return canonicalizeLocalPart(email);
  const local = canonicalizeLocalPart(email.slice(0, at));
  const domain = canonicalizeDomain(email.slice(at + 1));
  if (local === undefined || domain === undefined) return undefined;
  const canonical = `${local}@${domain}`;
  return canonical.length <= MAX_LENGTH ? canonical : undefined;
}

/** Lowers letters beyond ASCII, which mail servers hardly ever tell apart. */
function canonicalizeLocalPart(local: string): string | undefined {
  if (ASCII_ONLY.test(local)) return local;
  const composed = local.normalize('NFC');
  const letters = [...local, ...composed].filter((letter) => !ASCII_ONLY.test(letter));
  // The Kelvin sign (U+212A) becomes a k, and U+0130 an i: `lower()` of Postgres does the same in some locales.
  const becomesAscii = letters.some((letter) => /[\0-\x7f]/.test(letter.normalize('NFC').toLowerCase()));
  if (becomesAscii || INVISIBLE.test(composed)) return undefined;
  return composed.replace(/[^\0-\x7f]/gu, (letter) => letter.toLowerCase()).normalize('NFC');
}

/** Lowers ASCII letters only, as `lower(email collate "C")` does. */
function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Returns the key by which two spellings of a domain are equal. */
export function toDomainKey(domain: string): string {
  return lowerAscii(canonicalizeDomain(domain) ?? domain);
}

/** Returns the key by which two spellings of an address are equal. An address that nobody should have is its own. */
export function toEmailKey(email: string): string {
  return lowerAscii(canonicalizeEmail(email) ?? email);
}

/** Returns the address as people write it: `ada@bücher.example`. */
export function showEmail(email: string): string {
  const at = email.lastIndexOf('@');
  const domain = email.slice(at + 1);
  if (!/(?:^|\.)xn--/i.test(domain)) return email;
  return `${email.slice(0, at + 1)}${domainToUnicode(domain) || domain}`;
}

/**
 * Returns what `lower(email collate "C")` may be for a stored address, the canonical spelling first. Rows from before
 * Usher stored A-labels have Unicode: composed, decomposed or in capitals.
 */
export function listSpellings(email: string): readonly string[] {
  const key = toEmailKey(email);
  if (ASCII_ONLY.test(email) && !key.includes('xn--')) return [key];
  const canonical = canonicalizeEmail(email);
  if (canonical === undefined) return [key];
  const shown = showEmail(key);
  const spellings = [key, shown, shown.normalize('NFD'), lowerAscii(shown.toUpperCase()), lowerAscii(email)];
  return [...new Set(spellings)];
}
