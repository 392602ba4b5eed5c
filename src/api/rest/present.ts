/** Presents messages as the documented JSON. Protobuf's own JSON drops `false`, empty strings and `.000`. */
import { create, type DescMessage, type MessageInitShape } from '@bufbuild/protobuf';
import { TimestampSchema, timestampMs } from '@bufbuild/protobuf/wkt';

/** Documented as a URL or null. Other optional fields that are absent are left out. */
export const NULLABLE: readonly string[] = ['profileImage'];

/** Returns the message with all its fields, except for optional ones that are absent. */
export function presentMessage(schema: DescMessage, init: MessageInitShape<DescMessage>): Record<string, unknown> {
  const message: Readonly<Record<string, unknown>> = { ...create(schema, init) };
  return Object.fromEntries(
    schema.fields.map(({ jsonName, localName, message: type }) => {
      const value = presentValue(type, message[localName]);
      return [jsonName, NULLABLE.includes(jsonName) ? (value ?? null) : value];
    }),
  );
}

function presentValue(type: DescMessage | undefined, value: unknown): unknown {
  if (type === undefined || value === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => presentValue(type, item));
  // The schema says that the value has this type.
  if (type.typeName === TimestampSchema.typeName) return presentTime(value as MessageInitShape<typeof TimestampSchema>);
  return presentMessage(type, value as MessageInitShape<DescMessage>);
}

/** Returns ISO 8601 in UTC, always with three fractional digits. */
function presentTime(time: MessageInitShape<typeof TimestampSchema>): string {
  return new Date(timestampMs(create(TimestampSchema, time))).toISOString();
}
