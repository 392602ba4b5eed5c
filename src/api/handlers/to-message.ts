import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { presentScope } from '../../domain/grants/scope.ts';
import type { Page } from '../../domain/pages/list.ts';
import type { Profile } from '../../domain/users/user.ts';

type Nullable<Row> = { [Name in keyof Row]: null extends Row[Name] ? Name : never }[keyof Row];

type FieldValue<Value> = Value extends Date ? Timestamp : Value extends readonly (infer Item)[] ? Item[] : Value;

type MessageFields<Row> = { [Name in Exclude<keyof Row, Nullable<Row>>]: FieldValue<Row[Name]> } & {
  [Name in Nullable<Row>]?: FieldValue<NonNullable<Row[Name]>>;
};

/** Converts a row to the fields of a message: dates to Timestamps, null to absent. Protobuf ignores surplus columns. */
export function toMessage<Row extends object>(row: Row): MessageFields<Row> {
  const fields: Record<string, unknown> = {};
  for (const name in row) {
    const value: unknown = row[name];
    if (value !== null) fields[name] = value instanceof Date ? timestampFromDate(value) : value;
  }
  // The loop has converted the values as the type says.
  return fields as MessageFields<Row>;
}

/** Picks the profile from a row with more columns. */
export function toProfile({ email, name, profileImage, walletAddress, attributes = null }: Profile) {
  return toMessage({ email, name, profileImage, walletAddress, attributes });
}

interface WithScopes {
  readonly scope: number;
  /** Those of a resource. */
  readonly scopeNames: readonly string[] | null;
}

/** Converts a grant to the fields of a message, with its scopes in the text form of OpenID Connect. */
export function toGrant<Grant extends WithScopes>({ scope, scopeNames, ...grant }: Grant) {
  const scopes = [presentScope(scope), ...(scopeNames ?? [])].filter(Boolean).join(' ');
  return { ...toMessage(grant), scope: scopes };
}

/** Returns the response of a list, with its items in the field `name`. */
export function toPage<Name extends string, Row, Item>(
  name: Name,
  { rows, nextPageToken }: Page<Row>,
  toItem: (row: Row) => Item,
) {
  const items = { [name]: rows.map(toItem) } as Record<Name, Item[]>;
  return { ...items, nextPageToken };
}
