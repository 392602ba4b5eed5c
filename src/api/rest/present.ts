/** Presents messages as the documented JSON. Protobuf's own JSON drops `false`, empty strings and `.000`. */
import { create, type DescField, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema, timestampMs } from '@bufbuild/protobuf/wkt';

/** Documented as a URL or null. Other optional fields that are absent are left out. */
export const NULLABLE: readonly string[] = ['profileImage'];

/** Fields that only RPCs have, so that the replies of REST stay as they were. */
const ONLY_IN_RPC: readonly string[] = [
  'usher.v1.Session.auth_time',
  'usher.v1.Session.method',
  'usher.v1.Session.expires_at',
  'usher.v1.UserProfile.id',
  'usher.v1.ActiveSession.auth_time',
];

const restFields = new WeakMap<DescMessage, readonly DescField[]>();

export function restFieldsOf(schema: DescMessage): readonly DescField[] {
  let fields = restFields.get(schema);
  if (!fields) {
    fields = schema.fields.filter(({ parent, name }) => !ONLY_IN_RPC.includes(`${parent.typeName}.${name}`));
    restFields.set(schema, fields);
  }
  return fields;
}

/** Returns the message with all its fields, except for optional ones that are absent. */
export function presentMessage(schema: DescMessage, init: MessageInitShape<DescMessage>): Record<string, unknown> {
  const message: Readonly<Record<string, unknown>> = { ...create(schema, init) };
  const presented: Record<string, unknown> = {};
  for (const { jsonName, localName, message: type } of restFieldsOf(schema)) {
    const value = presentValue(type, message[localName]);
    presented[jsonName] = value === undefined && NULLABLE.includes(jsonName) ? null : value;
  }
  return presented;
}

function presentValue(type: DescMessage | undefined, value: unknown): unknown {
  if (type === undefined || value === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => presentValue(type, item));
  // The schema says that the value has this type.
  if (type.typeName === TimestampSchema.typeName) return presentTime(value as Timestamp);
  return presentMessage(type, value as MessageInitShape<DescMessage>);
}

/** Returns ISO 8601 in UTC, always with three fractional digits. */
function presentTime(time: Timestamp): string {
  return new Date(timestampMs(time)).toISOString();
}
