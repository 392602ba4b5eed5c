import { isOneEditAway } from './is-one-edit-away.ts';
import { splitLines } from './parse-setting.ts';

/** The rights that an admin key can have. `src/api/credentials.ts` lists the RPCs that each right opens. */
export const ADMIN_RIGHTS = ['login-page', 'support', 'recover', 'read', 'applications', 'all'] as const;

export type AdminRight = (typeof ADMIN_RIGHTS)[number];

export interface NamedAdminKey {
  readonly name: string;
  readonly key: string;
  /** Absent: all. */
  readonly rights?: readonly AdminRight[];
}

const MIN_LENGTH = 32;

/**
 * Returns the named keys: `name:key`, or `name:key:right,right`, on each line. Keys may contain colons: the rights
 * begin after the last colon, unless the key before it would be shorter than 32 characters and no right follows it.
 *
 * @throws Error whose message continues the name of the setting
 */
export function parseAdminKeys(text: string): readonly NamedAdminKey[] {
  const keys = splitLines(text).flatMap((line, index) =>
    line.trim() === '' ? [] : [parseLine(line.trim(), index + 1)],
  );
  if (keys.length === 0 || keys.some(({ key }) => key.length < MIN_LENGTH)) {
    throw new Error(`must hold a line name:key for each key, with at least ${MIN_LENGTH} characters in the key`);
  }
  if (!keys.every(({ key }) => /^[\x20-\x7e]+$/.test(key))) {
    throw new Error('must hold keys of ASCII characters only, as headers do');
  }
  const names = new Set(keys.map(({ name }) => name));
  if (names.size < keys.length || names.has('admin')) {
    throw new Error('must hold different names, none of them admin');
  }
  // The audit log names the key of a change. A key with two names would leave open which name that is.
  if (new Set(keys.map(({ key }) => key)).size < keys.length) throw new Error('must hold different keys');
  return keys;
}

/** Returns an empty or short key for a malformed line. `parseAdminKeys` refuses it as too short. */
function parseLine(line: string, number: number): NamedAdminKey {
  const [, name = '', rest = ''] = /^([\w.-]{1,64}):(.*)$/.exec(line) ?? [];
  const [, key = '', list = ''] = /^(.*):(.*)$/.exec(rest) ?? [];
  const hasRights = key.length >= MIN_LENGTH || list.split(/[^\w-]+/).some(isLikeRight);
  return hasRights ? { name, key: key.trim(), rights: parseRights(list, number) } : { name, key: rest.trim() };
}

/** Accepts misspelt rights, too: a line would otherwise have a key that ends with them, and all rights. */
function isLikeRight(word: string): boolean {
  return ADMIN_RIGHTS.some((right) => isOneEditAway(right, word.toLowerCase()));
}

/** The error quotes nothing of the line, which holds a key. */
function parseRights(list: string, number: number): readonly AdminRight[] {
  const given = list.split(',').map((right) => right.trim());
  return given.map((name) => {
    const right = ADMIN_RIGHTS.find((each) => each === name);
    if (right) return right;
    throw new Error(`line ${number} must end with rights, comma-separated, each one of ${ADMIN_RIGHTS.join(', ')}`);
  });
}
