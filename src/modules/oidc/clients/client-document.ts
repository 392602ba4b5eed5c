/** The metadata of a client that nobody has registered. What it says of rights is not used: it grants itself nothing. */
import { isRegistrable } from '../../../domain/applications/redirect-uri.ts';
import { parseObject } from '../../../encoding/json.ts';

export interface ClientDocument {
  readonly name: string;
  readonly redirectUris: readonly string[];
}

const MAX_NAME_LENGTH = 100;
const MAX_REDIRECT_URIS = 20;
const MAX_URI_LENGTH = 2_048;

/** Returns undefined unless the document is that of a public client with this ID. */
export function readClientDocument(clientId: string, text: string): ClientDocument | undefined {
  const document = parseObject(text);
  if (document?.client_id !== clientId) return undefined;
  const { client_name: name, redirect_uris: uris, token_endpoint_auth_method: method = 'none' } = document;
  if (typeof name !== 'string' || !isName(name) || !Array.isArray(uris) || method !== 'none') return undefined;
  // Whoever reads the document knows its secret, too.
  if (Object.keys(document).some((field) => field.startsWith('client_secret'))) return undefined;
  const redirectUris = uris.filter((uri): uri is string => typeof uri === 'string');
  const areAllUsable =
    redirectUris.length === uris.length &&
    redirectUris.every((uri) => uri.length <= MAX_URI_LENGTH && isRegistrable(uri));
  if (!areAllUsable || uris.length < 1 || uris.length > MAX_REDIRECT_URIS) return undefined;
  return { name, redirectUris };
}

/** Characters that turn the direction of text could make a page say something else. */
function isName(name: string): boolean {
  const length = [...name].length;
  return (
    name.isWellFormed() &&
    length >= 1 &&
    length <= MAX_NAME_LENGTH &&
    name.trim() !== '' &&
    !/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(name)
  );
}
