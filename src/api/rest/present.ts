/** Messages as the documented JSON. Protobuf's own JSON drops `false`, empty strings and `.000`. */
import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema, timestampMs } from '@bufbuild/protobuf/wkt';
import { type UserProfile, UserProfileSchema } from '../../../gen/usher/v1/auth_pb.ts';

/** Returns the message with all its fields, except for optional ones that are absent. */
export function presentMessage(schema: DescMessage, init: MessageInitShape<DescMessage>): Record<string, unknown> {
  const message: Readonly<Record<string, unknown>> = { ...create(schema, init) };
  return Object.fromEntries(
    schema.fields.map(({ jsonName, localName, message: type }) => [jsonName, presentValue(type, message[localName])]),
  );
}

function presentValue(type: DescMessage | undefined, value: unknown): unknown {
  if (type === undefined || value === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => presentValue(type, item));
  // The value is of the field's type.
  if (type.typeName === TimestampSchema.typeName) return presentTime(value as Timestamp);
  if (type.typeName === UserProfileSchema.typeName) return presentUser(value as UserProfile);
  return presentMessage(type, value as MessageInitShape<DescMessage>);
}

/** Interface, "User". A user without a name has no `name`. */
function presentUser(user: MessageInitShape<typeof UserProfileSchema> | undefined) {
  return {
    email: user?.email,
    name: user?.name,
    profileImage: user?.profileImage ?? null,
    walletAddress: user?.walletAddress,
  };
}

/** Returns ISO 8601 in UTC, always with three fractional digits. */
function presentTime(time: MessageInitShape<typeof TimestampSchema> | undefined): string | undefined {
  return time && new Date(timestampMs(create(TimestampSchema, time))).toISOString();
}
