/** Decodes base64url. Returns undefined for padding and spare bits, so that every value has one spelling. */
export function decodeBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}
