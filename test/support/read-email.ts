/** Reads an e-mail as a mail program does (RFC 5322, 2045 to 2047), as far as Usher sends such. */

export interface ReadEmail {
  /** By their names in lower case, decoded. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly html: string;
}

interface Part {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function readEmail(raw: string): ReadEmail {
  const { headers, body } = readPart(raw);
  const boundary = /boundary="([^"]+)"/.exec(headers['content-type'] ?? '')?.[1];
  const parts = boundary
    ? body
        .split(`--${boundary}`)
        .slice(1, -1)
        .map((part) => readPart(part.trimStart()))
    : [];
  const find = (type: string) => parts.find((part) => part.headers['content-type']?.startsWith(type));
  return { headers, text: decodeBody(find('text/plain')), html: decodeBody(find('text/html')) };
}

function readPart(raw: string): Part {
  const end = raw.indexOf('\r\n\r\n');
  const lines = raw
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = lines
    .map((line) => /^([\w-]+):\s*(.*)$/.exec(line))
    .map((match) => [match?.[1], match?.[2]] as const);
  return {
    headers: Object.fromEntries(headers.map(([name = '', value = '']) => [name.toLowerCase(), decodeWords(value)])),
    body: raw.slice(end + 4),
  };
}

/** Decodes the encoded words of a header. */
function decodeWords(value: string): string {
  return value.replace(/\?=\s+=\?/g, '?==?').replace(/(?:=\?utf-8\?[BQ]\?[^?]*\?=)+/gi, (words) => {
    const bytes = [...words.matchAll(/=\?utf-8\?([BQ])\?([^?]*)\?=/gi)].map(([, encoding, text = '']) =>
      encoding?.toUpperCase() === 'B' ? Buffer.from(text, 'base64') : decodeQuotedPrintable(text.replaceAll('_', ' ')),
    );
    return Buffer.concat(bytes).toString();
  });
}

function decodeBody(part: Part | undefined): string {
  if (!part) return '';
  const encoding = part.headers['content-transfer-encoding'];
  const body = part.body.replace(/\r\n$/, '');
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(body.replace(/=\r\n/g, '')).toString();
  return body;
}

function decodeQuotedPrintable(text: string): Buffer {
  return Buffer.from(
    text.replace(/=([0-9A-F]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
}
