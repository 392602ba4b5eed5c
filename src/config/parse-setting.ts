/** Settings from text. Each throws an Error that says, after the name of the setting, what is wrong. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { BlockList } from 'node:net';
import { parseTrustedProxies } from '../http/client-address.ts';
import { LOGIN_METHODS, type LoginMethod } from './login-methods.ts';

export function readText(path: string, readFile: (path: string) => string): string {
  try {
    return readFile(path);
  } catch (error) {
    // Not what it says: somebody may have put a secret there instead of the path to it.
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : '';
    throw new Error(`names a file that cannot be read${code}`);
  }
}

export function parseDatabaseUrl(text: string): string {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text)) throw new Error('must be a postgres:// URL');
  return text;
}

/** As it was written: it is the issuer of the auth tokens, which others compare byte for byte. */
export function parsePublicUrl(text: string): string {
  const { search, username, password, protocol } = parseWebUrl(text);
  if (!text.startsWith(protocol)) throw new Error('must have its scheme in lower case');
  if (search || username || password) throw new Error('must have neither query nor user information');
  return text;
}

/** Of a page or a file that is somebody else's. */
export function parseForeignUrl(text: string): string {
  return parseWebUrl(text).href;
}

export function parseSmtpUrl(text: string): string {
  // What may be in a host, URLs know of the web's schemes only.
  const isValid = /^smtps?:\/\//.test(text) && URL.canParse(text.replace('smtp', 'http'));
  if (!isValid) throw new Error('must be an smtp:// or smtps:// URL');
  return text;
}

export function parseLoginMethods(text: string): LoginMethod[] {
  const methods = text.split(',').map((method) => method.trim());
  if (!methods.every(isLoginMethod)) throw new Error('must be wallet, email or both, comma-separated');
  return methods;
}

function isLoginMethod(text: string): text is LoginMethod {
  return LOGIN_METHODS.some((method) => method === text);
}

function parseWebUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || text.includes('#')) {
    throw new Error('must be an absolute http or https URL without fragment');
  }
  return url;
}

export function parseProxyList(text: string): BlockList {
  return parseTrustedProxies(text.split(',').map((entry) => entry.trim()));
}

export function integerBetween(min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d+$/.test(text) || number < min || number > max) {
      throw new Error(`must be a whole number from ${min} to ${max}`);
    }
    return number;
  };
}

export function oneOf(values: readonly string[]): (text: string) => string {
  return (text) => {
    if (!values.includes(text)) throw new Error(`must be one of ${values.join(', ')}`);
    return text;
  };
}

export function isKeyPair({ cert, key }: { cert: string; key: string }): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
