/** Base32 without padding (RFC 4648), in which authenticator apps take their keys. */
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function encodeBase32(bytes: Uint8Array): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => ALPHABET[Number.parseInt(group.padEnd(5, '0'), 2)]).join('');
}

/** Ignores case, spaces, dashes and padding. Returns undefined for any other text. */
export function decodeBase32(text: string): Buffer | undefined {
  const digits = text.toUpperCase().replace(/[\s-]|=+$/g, '');
  if (!/^[A-Z2-7]*$/.test(digits)) return undefined;
  const bits = [...digits].map((digit) => ALPHABET.indexOf(digit).toString(2).padStart(5, '0')).join('');
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return Buffer.from(bytes);
}
