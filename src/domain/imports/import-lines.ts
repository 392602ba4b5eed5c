/** Decides what becomes of each line, and stores lines in batches. Each line stands or falls alone. */
import { createPublicKey, type JsonWebKey, randomUUID } from 'node:crypto';
import { isUniqueViolation, sqlStateOf } from '../../database/sql/errors.ts';
import type { Call } from '../core/call.ts';
import { ServiceError } from '../core/errors.ts';
import { deactivateUser, reactivateUser } from '../lifecycle/end-user.ts';
import { markEmailVerified } from '../users/mark-email-verified.ts';
import { removeIfErased } from '../users/personal-data.ts';
import { updateUser } from '../users/update-user.ts';
import { type InsertOptions, insertUsers, type PlacedLine } from './insert-users.ts';
import { findKnown, isBeyondGroups, type Known, uniqueKeysOf } from './known.ts';
import type { UserLine } from './user-line.ts';

export interface ImportOptions extends InsertOptions {
  readonly dryRun: boolean;
  readonly onConflict: 'skip' | 'update' | 'fail';
  /** The host that passkeys belong to. */
  readonly rpId: string;
  readonly onSignedOut: (userId: string) => void;
}

export interface LineResult {
  readonly status: 'created' | 'updated' | 'skipped' | 'failed';
  readonly id?: string | undefined;
  readonly reason?: string;
  readonly field?: string;
}

const FOREIGN_KEY_VIOLATION = '23503';
const DEADLOCK = '40P01';

/** A batch, then its lines alone, and once more: by then, what another import has stored meanwhile is known. */
const MAX_ATTEMPTS = 3;

const UPDATED = ['email', 'name', 'profileImage', 'walletAddress', 'externalId', 'attributes'] as const;

/**
 * Imports lines of which no two have a key of `uniqueKeysOf` in common. Returns a result for each. A line that changes a
 * user gets a call of its own: it takes several statements, and where every server has a copy of users, they are slow.
 */
export async function importLines(
  createCall: () => Call,
  lines: readonly UserLine[],
  options: ImportOptions,
  attempt = 1,
): Promise<LineResult[]> {
  const call = createCall();
  const known = await findKnown(call.run, lines, options.issuers);
  const wrongKeys = await findWrongPublicKeys(lines);
  const results = lines.map((line) => {
    const result = decide(line, known, options);
    const wrongKey = wrongKeys.get(line);
    return wrongKey === undefined || result.status === 'failed' ? result : fail('VALIDATION_FAILED', wrongKey);
  });
  const created = lines.flatMap((line, at): PlacedLine[] => {
    const { status, id } = results[at] ?? {};
    return status === 'created' && !options.dryRun ? [{ line, userId: id as string, isNew: true }] : [];
  });
  if (created.length > 0) {
    try {
      await insertUsers(call, created, known, options);
    } catch (error) {
      // Somebody has stored one of the keys meanwhile, or deleted a group. Alone, each other line can be stored.
      const isMeanwhile = isUniqueViolation(error) || [FOREIGN_KEY_VIOLATION, DEADLOCK].includes(sqlStateOf(error));
      if (!isMeanwhile) throw error;
      if (attempt < MAX_ATTEMPTS) return oneByOne(createCall, lines, options, attempt + 1);
      return [{ status: 'failed', reason: isUniqueViolation(error) ? 'USER_ALREADY_EXISTS' : 'GROUP_NOT_FOUND' }];
    }
  }
  for (const [at, line] of lines.entries()) {
    const id = results[at]?.status === 'updated' && results[at].id;
    if (!id) continue;
    const change = createCall();
    if (await isBeyondGroups(change, line, id, known)) results[at] = { ...fail('TOO_MANY_GROUPS', 'groups'), id };
    else if (!options.dryRun) results[at] = await update(change, line, id, { ...options, known });
  }
  return results;
}

async function oneByOne(
  createCall: () => Call,
  lines: readonly UserLine[],
  options: ImportOptions,
  attempt: number,
): Promise<LineResult[]> {
  const results: LineResult[] = [];
  for (const line of lines) results.push(...(await importLines(createCall, [line], options, attempt)));
  return results;
}

function fail(reason: string, field: string): LineResult {
  return { status: 'failed', reason, field };
}

/** Returns what shall become of a line. A new user gets an ID. */
function decide(line: UserLine, known: Known, { issuers, onConflict, rpId }: ImportOptions): LineResult {
  const keys = uniqueKeysOf(line, issuers).map((key) => [key.slice(0, key.indexOf(' ')), known.get(key)] as const);
  const found = keys.filter(([, owner]) => owner !== undefined);
  if (found.some(([, owner]) => owner === null)) return fail('USER_ALREADY_EXISTS', 'id');
  const people = found.filter(([kind]) => kind === 'id' || kind === 'externalId' || kind === 'email');
  const [first] = people;
  if (new Set(people.map(([, owner]) => owner)).size > 1) return fail('CONFLICTING_IDS', people.at(-1)?.[0] ?? '');
  const userId = first?.[1] ?? undefined;
  // An ID that nobody has is of another user than the one with the external ID or address.
  if (userId !== undefined && line.id !== null && line.id !== userId) return fail('CONFLICTING_IDS', 'id');
  const taken = found.find(([, owner]) => owner !== userId);
  if (taken?.[0] === 'walletAddress') return fail('USER_ALREADY_EXISTS', 'walletAddress');
  if (taken?.[0] === 'passkey') return fail('PASSKEY_ALREADY_EXISTS', 'passkeys');
  if (taken) return fail('IDENTITY_ALREADY_LINKED', 'identities');
  if (line.identities.some(({ provider }) => !issuers.has(provider))) return fail('UNKNOWN_PROVIDER', 'identities');
  if (line.passkeys.some((passkey) => passkey.rpId !== rpId)) return fail('PASSKEY_OF_OTHER_HOST', 'passkeys');
  if (line.applications.some((id) => !known.has(`application ${id}`)))
    return fail('APPLICATION_NOT_FOUND', 'applications');
  if (line.groups.some((name) => !known.has(`group ${name}`))) return fail('GROUP_NOT_FOUND', 'groups');
  if (userId === undefined) return { status: 'created', id: line.id ?? randomUUID() };
  if (onConflict === 'skip') return { status: 'skipped', id: userId };
  if (onConflict === 'update') return { status: 'updated', id: userId };
  return { ...fail('USER_ALREADY_EXISTS', first?.[0] ?? ''), id: userId };
}

/** Changes the fields that the line has, and adds what it lists. */
async function update(
  call: Call,
  line: UserLine,
  userId: string,
  { known, ...options }: ImportOptions & { readonly known: Known },
): Promise<LineResult> {
  const changes = Object.fromEntries(UPDATED.filter((name) => line.given.has(name)).map((name) => [name, line[name]]));
  try {
    await updateUser(call, { userId, ...changes });
    if (line.emailVerified) await markEmailVerified(call, { userId, email: line.email });
    if (line.given.has('isActive')) await (line.isActive ? reactivateUser : deactivateUser)(call, { userId });
    if (!line.isActive) options.onSignedOut(userId);
    await insertUsers(call, [{ line, userId, isNew: false }], known, options);
    if (await removeIfErased(call, userId)) throw new ServiceError('USER_NOT_FOUND');
    return { status: 'updated', id: userId };
  } catch (error) {
    if (error instanceof ServiceError) return { status: 'failed', id: userId, reason: error.reason };
    throw error;
  }
}

/** Types, algorithms and curves of COSE (RFC 9053) that the library verifies, with the names that JWK gives them. */
const [OKP, EC2, RSA] = [1, 2, 3];
const ALGORITHMS: Readonly<Record<number, readonly number[]>> = {
  [OKP]: [-8],
  [EC2]: [-7, -35, -36],
  [RSA]: [-257, -258, -259, -37, -38, -39],
};
const CURVES: Readonly<Record<number, Readonly<Record<number, string>>>> = {
  [OKP]: { 6: 'Ed25519' },
  [EC2]: { 1: 'P-256', 2: 'P-384', 3: 'P-521' },
};

interface Cose {
  get(label: number): unknown;
}

/**
 * Returns the lines with a public key of a passkey that verifies no signature, and the field of the first such key.
 * Otherwise a wrong one would show itself at the first sign-in.
 */
async function findWrongPublicKeys(lines: readonly UserLine[]): Promise<ReadonlyMap<UserLine, string>> {
  const wrong = new Map<UserLine, string>();
  const withPasskeys = lines.filter(({ passkeys }) => passkeys.length > 0);
  if (withPasskeys.length === 0) return wrong;
  // Loaded with the first passkey, because the library takes much memory.
  const { decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers');
  for (const line of withPasskeys) {
    const at = line.passkeys.findIndex(({ publicKey }) => {
      try {
        createPublicKey({ key: toJwk(decodeCredentialPublicKey(new Uint8Array(publicKey))), format: 'jwk' });
        return false;
      } catch {
        return true;
      }
    });
    if (at >= 0) wrong.set(line, `passkeys[${at}].publicKey`);
  }
  return wrong;
}

/** @throws Error if the key has another type, algorithm or curve. Whether it is a key at all is up to OpenSSL. */
function toJwk(key: Cose): JsonWebKey {
  const [type, algorithm, first] = [key.get(1), key.get(3), key.get(-1)];
  if (!ALGORITHMS[Number(type)]?.includes(Number(algorithm))) throw new Error('Unknown algorithm');
  if (type === RSA) return { kty: 'RSA', n: toText(first), e: toText(key.get(-2)) };
  const crv = CURVES[Number(type)]?.[Number(first)];
  // Equivalent: guard: OpenSSL refuses it as well
  if (crv === undefined) throw new Error('Unknown curve');
  const x = toText(key.get(-2));
  return type === OKP ? { kty: 'OKP', crv, x } : { kty: 'EC', crv, x, y: toText(key.get(-3)) };
}

function toText(bytes: unknown): string {
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) throw new Error('No bytes');
  return Buffer.from(bytes).toString('base64url');
}
