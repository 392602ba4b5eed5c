/** A user to import, as a line of a file has it: `{"email":"ada@example.com","externalId":"auth0|5f7c",…}`. */

import { decodeBase64Url } from '../../encoding/base64url.ts';
import { isObject } from '../../encoding/json.ts';
import { invalidField } from '../core/errors.ts';
import { patternOf, type Rule, rule, Unacceptable } from '../core/rule.ts';
import {
  boolean,
  type Checked,
  check,
  identifier,
  integer,
  listOf,
  objectOf,
  optional,
  orDefault,
  text,
  timestamp,
  uuid,
} from '../core/validation.ts';
import { profileRules } from '../users/user.ts';

const BASE32 = /^[A-Za-z2-7]{16,103}$/;
const totpText = text({ max: 103 });

/** Accepts the secret of an authenticator app, of 80 to 512 bits, and returns it in capitals. */
const totpSecret: Rule<string> = rule({ ...totpText.schema, pattern: patternOf(BASE32) }, (value) => {
  const secret = totpText(value);
  if (!BASE32.test(secret)) throw new Unacceptable('must be Base32 of 80 to 512 bits');
  return secret.toUpperCase();
});

/** Accepts bytes in base64url. */
function base64Url(max: number): Rule<Buffer> {
  const anyText = text({ max: Math.ceil((max * 4) / 3), format: 'base64url' });
  return rule(anyText.schema, (value) => {
    const bytes = decodeBase64Url(anyText(value));
    if (!bytes) throw new Unacceptable('must be base64url');
    return bytes;
  });
}

const passkey = objectOf({
  credentialId: base64Url(1_023),
  /** In COSE (RFC 9052). */
  publicKey: base64Url(2_048),
  rpId: text({ max: 255 }),
  signCount: orDefault(integer({ min: 0, max: 2 ** 32 - 1 }), 0),
  transports: orDefault(listOf(text({ max: 32 }), { min: 0, max: 10 }), []),
  name: orDefault(identifier, 'Passkey'),
  aaguid: orDefault(uuid, '00000000-0000-0000-0000-000000000000'),
  backupEligible: orDefault(boolean, false),
  backedUp: orDefault(boolean, false),
  userVerified: orDefault(boolean, false),
});

const rules = {
  ...profileRules,
  id: optional(uuid),
  emailVerified: orDefault(boolean, false),
  createdAt: optional(timestamp),
  isActive: orDefault(boolean, true),
  groups: orDefault(listOf(text({ max: 63 }), { min: 0, max: 100 }), []),
  applications: orDefault(listOf(uuid, { min: 0, max: 100 }), []),
  identities: orDefault(
    listOf(objectOf({ provider: text({ max: 64 }), subject: text({ max: 255 }) }), { min: 0, max: 20 }),
    [],
  ),
  passkeys: orDefault(listOf(passkey, { min: 0, max: 10 }), []),
  totpSecret: optional(totpSecret),
  /** As in an export, which has no secret. Ignored. */
  hasSecondFactor: orDefault(boolean, false),
};

export interface UserLine extends Checked<typeof rules> {
  /** The names of the fields that the line has. */
  readonly given: ReadonlySet<string>;
}

/** Accepts any value, which `checkUser` judges: a user who is refused does not refuse others. */
export const anyUser: Rule<unknown> = rule(objectOf(rules).schema, (value) => value);

/** Returns the name of a field that no line has. */
export function findUnknownField(line: object): string | undefined {
  return Object.keys(line).find((name) => !Object.hasOwn(rules, name));
}

/** @throws ServiceError `Validation failed`, with the fields that are missing or wrong */
export function checkUser(value: unknown): UserLine {
  if (!isObject(value)) throw invalidField('', 'must be an object');
  const fields: Readonly<Record<string, unknown>> = value;
  const given = new Set(Object.keys(fields).filter((name) => fields[name] !== undefined));
  return { ...check(fields, rules), given };
}
