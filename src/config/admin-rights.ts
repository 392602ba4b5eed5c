/** What an admin key may be allowed. */
export const ADMIN_RIGHTS = ['login-page', 'support', 'read', 'applications', 'all'] as const;

export type AdminRight = (typeof ADMIN_RIGHTS)[number];

export interface NamedAdminKey {
  readonly name: string;
  readonly key: string;
  /** Absent: all. */
  readonly rights?: readonly AdminRight[];
}

const MIN_LENGTH = 32;

/**
 * Returns the named keys: `name:key`, or `name:key:right,right`, on each line. A colon belongs to the key if less than a
 * whole key precedes it.
 *
 * @throws Error that says what is wrong
 */
export function parseAdminKeys(text: string): readonly NamedAdminKey[] {
  const keys = text
    .split('\n')
    .flatMap((line, index) => (line.trim() === '' ? [] : [parseLine(line.trim(), index + 1)]));
  if (keys.length === 0 || keys.some(({ key }) => key.length < MIN_LENGTH)) {
    throw new Error(`must hold a line name:key for each key, of at least ${MIN_LENGTH} characters`);
  }
  const names = new Set(keys.map(({ name }) => name));
  if (names.size < keys.length || names.has('admin')) {
    throw new Error('must hold names that are all different, and none that is admin');
  }
  // The audit log could not distinguish them.
  if (new Set(keys.map(({ key }) => key)).size < keys.length) throw new Error('must hold keys that are all different');
  return keys;
}

/** Returns a key without characters for a line that is none. */
function parseLine(line: string, number: number): NamedAdminKey {
  const [, name = '', rest = ''] = /^([\w.-]{1,64}):(.*)$/.exec(line) ?? [];
  const [, key, list] = /^(.{32,}):(.*)$/.exec(rest) ?? [];
  if (key === undefined || list === undefined) return { name, key: rest.trim() };
  return { name, key: key.trim(), rights: parseRights(list, number) };
}

/** The message has no part of the line but words that can be no key. */
function parseRights(list: string, number: number): readonly AdminRight[] {
  const given = list.split(',').map((right) => right.trim());
  return given.map((name) => {
    const right = ADMIN_RIGHTS.find((each) => each === name);
    if (right) return right;
    throw new Error(`line ${number} must end with rights of ${ADMIN_RIGHTS.join(', ')}, separated by commas`);
  });
}
