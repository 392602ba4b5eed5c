/** A line of a file of users: `{"email":"ada@example.com","externalId":"auth0|5f7c",…}`. */
import { listOf, objectOf } from '../../domain/core/compound-rules.ts';
import { invalidField } from '../../domain/core/errors.ts';
import { type Rule, rule, Unacceptable } from '../../domain/core/rule.ts';
import { instantText } from '../../domain/core/text-rules.ts';
import {
  boolean,
  type Checked,
  check,
  identifier,
  integer,
  optional,
  orDefault,
  text,
  uuid,
} from '../../domain/core/validation.ts';
import { profileRules } from '../../domain/users/user.ts';
import { decodeBase64Url } from '../../encoding/base64url.ts';
import { isObject } from '../../encoding/json.ts';

/** Accepts bytes in base64url. */
function base64Url(max: number): Rule<Buffer> {
  const anyText = text({ max: Math.ceil((max * 4) / 3) });
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

const RULES = {
  ...profileRules,
  id: optional(uuid),
  emailVerified: orDefault(boolean, false),
  createdAt: optional(instantText),
  isActive: orDefault(boolean, true),
  groups: orDefault(listOf(text({ max: 63 }), { min: 0, max: 100 }), []),
  applications: orDefault(listOf(uuid, { min: 0, max: 100 }), []),
  identities: orDefault(
    listOf(objectOf({ provider: text({ max: 64 }), subject: text({ max: 255 }) }), { min: 0, max: 20 }),
    [],
  ),
  passkeys: orDefault(listOf(passkey, { min: 0, max: 10 }), []),
};

export interface UserLine extends Checked<typeof RULES> {
  /** The names of the fields that the line has. */
  readonly given: ReadonlySet<string>;
}

/** @throws ServiceError `Validation failed`, with the fields that are missing, wrong or unknown */
export function readUserLine(json: string): UserLine {
  const value = parse(json);
  if (!isObject(value)) throw invalidField('', 'must be a JSON object');
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(RULES, name));
  if (unknown !== undefined) throw invalidField(unknown.slice(0, 64).toWellFormed(), 'is unknown');
  return { ...check(value, RULES), given: new Set(Object.keys(value)) };
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw invalidField('', 'must be JSON');
  }
}
