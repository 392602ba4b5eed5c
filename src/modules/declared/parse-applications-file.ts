/** Parses `APPLICATIONS_FILE` and checks it against itself. Errors name the entry and the field, and quote no value. */
import { hash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { readSettingBytes } from '../../config/files.ts';
import { KEY_USES } from '../../domain/api-keys/api-keys.ts';
import { type IsKnownMethod, requireKnownMethods } from '../../domain/applications/application.ts';
import { applicationRules } from '../../domain/applications/create-application.ts';
import { readLogoImage } from '../../domain/applications/logo-image.ts';
import { CLIENT_ID, clientIdRule } from '../../domain/applications/resource.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import { OWN_APPLICATION_IDS } from '../../domain/core/own-applications.ts';
import type { Rule } from '../../domain/core/rule.ts';
import {
  boolean,
  type Checked,
  check,
  identifier,
  integer,
  listOf,
  objectOf,
  oneOf,
  optional,
  orDefault,
  text,
  textThat,
  timestamp,
  uuid,
} from '../../domain/core/validation.ts';
import { groupRules, MAX_GROUPS, MAX_GROUPS_OF_APPLICATION } from '../../domain/groups/group.ts';
import { findRepeatedName, isObject } from '../../encoding/json.ts';
import { toUuid } from '../../encoding/uuid-bytes.ts';
import { requireSize } from './settings.ts';

export const MAX_KEYS = 10;
const MAX_REVISION = 2_147_483_647;

const keyRules = {
  name: identifier,
  sha256: textThat((given) => /^[0-9a-f]{64}$/.test(given), 'must have 64 hexadecimal digits in lower case', {
    max: 64,
    format: 'sha256',
  }),
  use: orDefault(oneOf(KEY_USES), 'API'),
  // An instant in the past is valid: a file must not become invalid with time.
  expiresAt: optional(timestamp),
};
const flag = orDefault(boolean, false);
const accessRules = { group: groupRules.name, allowsAccess: flag, inClaim: flag };
const logo = optional(text({ max: 100_000 }));
/** What becomes of an entry. */
const fateRules = { deleted: flag, released: flag };
const idRules = { clientId: clientIdRule, id: optional(uuid) };
const partRules = {
  keys: orDefault(listOf(objectOf(keyRules), { min: 0, max: MAX_KEYS }), []),
  access: orDefault(listOf(objectOf(accessRules), { min: 0, max: MAX_GROUPS_OF_APPLICATION }), []),
  logo,
  darkLogo: logo,
};
const fileRules = {
  revision: optional(integer({ min: 0, max: MAX_REVISION })),
  groups: orDefault(listOf(anything(), { min: 0, max: MAX_GROUPS }), []),
  applications: orDefault(listOf(anything(), { min: 0, max: Number.MAX_SAFE_INTEGER }), []),
};

export type DeclaredKey = Checked<typeof keyRules>;
type DeclaredAccess = Checked<typeof accessRules>;
export type ApplicationFields = Checked<typeof applicationRules>;

type Fate = 'declared' | 'deleted' | 'released';

interface Entry {
  /** Names the entry in errors. */
  readonly label: string;
  readonly fate: Fate;
}

export interface DeclaredApplication extends Entry {
  readonly clientId: string;
  /** Undefined for a client ID of Usher without an ID: such an application must exist. */
  readonly id: string | undefined;
  /** Undefined unless its fate is `declared`. */
  readonly fields: ApplicationFields;
  readonly keys: readonly DeclaredKey[];
  /** Without what means nothing. */
  readonly access: readonly DeclaredAccess[];
  readonly logos: Readonly<Record<'light' | 'dark', Buffer | undefined>>;
}

export interface DeclaredGroup extends Entry, Checked<typeof groupRules> {}

export interface ApplicationsFile {
  /** SHA-256, in hex. */
  readonly digest: string;
  readonly revision: number | null;
  readonly groups: readonly DeclaredGroup[];
  readonly applications: readonly DeclaredApplication[];
}

/** The file cannot be applied. The message continues the name of the setting. */
export class ApplicationsFileError extends Error {}

export function digestOfFile(content: string): string {
  return hash('sha256', content, 'hex');
}

/** @throws ApplicationsFileError */
export function parseApplicationsFile(content: string, path: string, isKnownMethod?: IsKnownMethod): ApplicationsFile {
  const json = parseJson(content);
  const given = checkEntry('', json, fileRules);
  const groups = given.groups.map((entry, index) => parseGroup(entry, index));
  const applications = given.applications.map((entry, index) =>
    parseApplication(entry, index, { path, isKnownMethod }),
  );
  requireDistinct(groups, 'name', ({ name }) => [name]);
  requireDistinct(applications, 'clientId', ({ clientId }) => [clientId]);
  requireDistinct(applications, 'id', ({ id }) => (id === undefined ? [] : [id]));
  requireDistinct(applications, 'sha256 of a key', ({ keys }) => keys.map(({ sha256 }) => sha256));
  requireDistinct(applications, 'resourceUri', ({ fields }) => toResourceKeys(fields?.resourceUri));
  return { digest: digestOfFile(content), revision: given.revision, groups, applications };
}

/** Returns the text by which resources are compared, or none. */
export function toResourceKeys(resourceUri: string | null | undefined): string[] {
  return resourceUri ? [resourceUri.replace(/\/+$/, '')] : [];
}

function parseJson(content: string): unknown {
  try {
    requireSize(content);
    const json: unknown = JSON.parse(content);
    if (findRepeatedName(content) === undefined) return json;
  } catch (error) {
    throw new ApplicationsFileError(error instanceof SyntaxError ? 'must hold JSON' : (error as Error).message);
  }
  throw new ApplicationsFileError('must not have a field twice');
}

function parseGroup(entry: unknown, index: number): DeclaredGroup {
  const at = `groups[${index}]`;
  const { deleted, released, ...group } = checkEntry(at, entry, { ...groupRules, ...fateRules });
  const label = `${at} (${group.name})`;
  return { label, ...group, fate: fateOf(label, { deleted, released }) };
}

function parseApplication(
  entry: unknown,
  index: number,
  { path, isKnownMethod }: { readonly path: string; readonly isKnownMethod: IsKnownMethod | undefined },
): DeclaredApplication {
  const at = `applications[${index}]`;
  const given = requireEntry(at, entry);
  const label = CLIENT_ID.test(String(given.clientId)) ? `${at} (${given.clientId})` : at;
  const rules = { ...idRules, ...fateRules, ...applicationRules, ...partRules };
  const isEnding = given.deleted === true || given.released === true;
  // The entry of an application that ends may keep its other fields. They have no effect.
  const checked = checkEntry(label, entry, isEnding ? { ...idRules, ...fateRules } : rules, rules);
  const { clientId, deleted, released } = checked;
  const fate = fateOf(label, { deleted, released });
  const id = idOf(label, checked);
  if (isEnding) {
    return { label, fate, clientId, id, fields: {} as ApplicationFields, keys: [], access: [], logos: NO_LOGOS };
  }
  const { keys, access, logo, darkLogo } = checked as Checked<typeof rules>;
  const fields = pickApplicationFields(checked);
  requireItems(label, given, 'keys', keyRules);
  requireItems(label, given, 'access', accessRules);
  requireOnce(
    `${label}: keys must have each name`,
    keys.map(({ name }) => name),
  );
  requireOnce(
    `${label}: access must have each group`,
    access.map(({ group }) => group),
  );
  nameEntry(label, () => requireKnownMethods(fields.loginMethods, isKnownMethod));
  const logos = { light: readLogo(label, 'logo', logo, path), dark: readLogo(label, 'darkLogo', darkLogo, path) };
  const meaning = access.filter(({ allowsAccess, inClaim }) => allowsAccess || inClaim);
  return { label, fate, clientId, id, fields, keys, access: meaning, logos };
}

function pickApplicationFields(checked: object): ApplicationFields {
  const names = new Set(Object.keys(applicationRules));
  return Object.fromEntries(Object.entries(checked).filter(([name]) => names.has(name))) as ApplicationFields;
}

const NO_LOGOS = { light: undefined, dark: undefined };

function fateOf(label: string, { deleted, released }: { readonly deleted: boolean; readonly released: boolean }): Fate {
  if (deleted && released) throw new ApplicationsFileError(`${label}: deleted and released must not both be true`);
  return deleted ? 'deleted' : released ? 'released' : 'declared';
}

function idOf(label: string, { clientId, id }: { readonly clientId: string; readonly id: string | null }) {
  const derived = clientId.startsWith('client_') ? id : deriveApplicationId(clientId);
  if (derived === null) return undefined;
  if (id !== null && id !== derived) throw new ApplicationsFileError(`${label}: id follows from clientId`);
  if (OWN_APPLICATION_IDS.includes(derived)) throw new ApplicationsFileError(`${label}: id is one of Usher itself`);
  return derived;
}

/** Returns the same ID in each stage, as a UUID of version 8 (RFC 9562, section 5.8). */
export function deriveApplicationId(clientId: string): string {
  const bytes = hash('sha256', `usher application:${clientId}`, 'buffer').subarray(0, 16);
  bytes.writeUInt8(((bytes[6] ?? 0) & 0x0f) | 0x80, 6);
  bytes.writeUInt8(((bytes[8] ?? 0) & 0x3f) | 0x80, 8);
  return toUuid(bytes);
}

const DATA_URI = /^data:image\/[a-z]+;base64,([0-9A-Za-z+/]+={0,2})$/;

/** Returns the image of a data URI, or of a path relative to that of the file. */
function readLogo(label: string, field: string, given: string | null, path: string): Buffer | undefined {
  if (given === null) return undefined;
  const [, base64] = DATA_URI.exec(given) ?? [];
  let image: Buffer;
  try {
    image = base64 === undefined ? readSettingBytes(resolve(dirname(path), given)) : Buffer.from(base64, 'base64');
  } catch (error) {
    const { code = 'UNKNOWN' } = error as NodeJS.ErrnoException;
    throw new ApplicationsFileError(`${label}: ${field} names a file that cannot be read (${code})`);
  }
  nameEntry(label, () => readLogoImage(image), field);
  return image;
}

/** Accepts any value. */
function anything(): Rule<unknown> {
  return Object.assign((value: unknown) => value, {
    schema: { type: 'object' } as const,
    isOptional: false,
    isNullable: false,
    alternative: undefined,
  });
}

function requireEntry(label: string, entry: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(entry)) throw errorAt(label, 'must be an object');
  return entry;
}

/** @param known the rules of all fields that the entry may have */
function checkEntry<Rules extends Record<string, Rule<unknown>>>(
  label: string,
  entry: unknown,
  rules: Rules,
  known: Readonly<Record<string, unknown>> = rules,
): Checked<Rules> {
  const given = requireEntry(label, entry);
  const unknown = Object.keys(given).find((field) => !Object.hasOwn(known, field));
  if (unknown !== undefined) throw errorAt(label, `${JSON.stringify(unknown)} is no field`);
  return nameEntry(label, () => check(given as object, rules));
}

/** Demands that the items of a list, which have passed their rules, have no other fields. */
function requireItems(label: string, given: Readonly<Record<string, unknown>>, list: string, rules: object): void {
  for (const [index, item] of (given[list] as object[] | undefined | null)?.entries() ?? []) {
    const unknown = Object.keys(item).find((field) => !Object.hasOwn(rules, field));
    if (unknown !== undefined)
      throw new ApplicationsFileError(`${label}: ${list}[${index}].${JSON.stringify(unknown)} is no field`);
  }
}

/** @param demand what the message says before "once" */
function requireOnce(demand: string, values: readonly string[]): void {
  if (new Set(values).size < values.length) throw new ApplicationsFileError(`${demand} once`);
}

function requireDistinct<Each extends Entry>(
  entries: readonly Each[],
  field: string,
  valuesOf: (entry: Each) => string[],
) {
  const seen = new Map<string, string>();
  for (const entry of entries) {
    for (const value of valuesOf(entry)) {
      const other = seen.get(value);
      if (other !== undefined) throw new ApplicationsFileError(`${entry.label}: ${field} is also that of ${other}`);
      seen.set(value, entry.label);
    }
  }
}

/** Runs what throws a ServiceError, and names the entry and the fields in its message. */
function nameEntry<Result>(label: string, run: () => Result, field?: string): Result {
  try {
    return run();
  } catch (error) {
    throw toFileError(label, error, field);
  }
}

/** Returns the error itself if it is none of the domain. @param field replaces the names of fields */
export function toFileError(label: string, error: unknown, field?: string): unknown {
  if (!(error instanceof ServiceError)) return error;
  const { message, violations } = error;
  const problems = violations.map((violation) => `${field ?? violation.field} ${violation.message}`);
  return errorAt(label, problems.join(', ') || message, error);
}

/** @param label empty for the file itself */
function errorAt(label: string, problem: string, cause?: unknown): ApplicationsFileError {
  return new ApplicationsFileError(label ? `${label}: ${problem}` : problem, { cause });
}
