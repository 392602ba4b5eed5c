/** The metadata of a client that nobody has registered. What it says of rights is not used: it grants itself nothing. */
import { isRegistrable } from '../../../domain/applications/redirect-uri.ts';
import { parseObject } from '../../../encoding/json.ts';

export interface ClientDocument {
  readonly name: string;
  /** Those that an application could register, too. A document may list others beside them. */
  readonly redirectUris: readonly string[];
}

const MAX_NAME_LENGTH = 100;
const MAX_REDIRECT_URIS = 20;
const MAX_URI_LENGTH = 2_048;

/** Returns the document, or why it is not that of a public client with this ID. */
export function readClientDocument(clientId: string, text: string): ClientDocument | { readonly problem: string } {
  const document = parseObject(text);
  if (!document) return { problem: 'it is no JSON object' };
  if (document.client_id !== clientId) return { problem: 'its client_id is another' };
  const { client_name: name, redirect_uris: uris } = document;
  if (typeof name !== 'string' || !isName(name))
    return { problem: `its client_name is not 1 to ${MAX_NAME_LENGTH} characters of one line` };
  if (!isPublic(document)) return { problem: 'its token_endpoint_auth_methods do not include none' };
  // Whoever reads the document knows its secret, too.
  const secret = Object.keys(document).find((field) => field.startsWith('client_secret'));
  if (secret !== undefined) return { problem: 'it has a client_secret' };
  if (!Array.isArray(uris) || uris.length > MAX_REDIRECT_URIS)
    return { problem: `its redirect_uris are no list of 1 to ${MAX_REDIRECT_URIS}` };
  // One that is unusable may be for another of the client's products, such as `cursor://…` beside https.
  const redirectUris = uris.filter((uri): uri is string => typeof uri === 'string' && isUsable(uri));
  if (redirectUris.length === 0) return { problem: 'none of its redirect_uris is usable' };
  return { name, redirectUris };
}

/**
 * Returns whether the client can do without authentication. It names the method that it prefers, and may list others,
 * because it does not know what the authorization server supports: ChatGPT prefers `private_key_jwt`.
 */
function isPublic(document: Readonly<Record<string, unknown>>): boolean {
  const { token_endpoint_auth_method: preferred, token_endpoint_auth_methods_supported: others } = document;
  if (preferred === 'none') return true;
  return others === undefined ? preferred === undefined : Array.isArray(others) && others.includes('none');
}

function isUsable(uri: string): boolean {
  return uri.length <= MAX_URI_LENGTH && isRegistrable(uri);
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
