import { isMessage } from '@bufbuild/protobuf';
import { TimestampSchema, timestampDate } from '@bufbuild/protobuf/wkt';

/** Returns a Timestamp as a Date, and anything else as it is: a missing one, or a wrong type that validation refuses. */
export function fromTimestamp(value: unknown): unknown {
  return isMessage(value, TimestampSchema) ? timestampDate(value) : value;
}
