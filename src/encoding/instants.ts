/** What both Postgres and a Timestamp of Protobuf can hold: the years 1 to 9999. */
const [FIRST, LAST] = [new Date('0001-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59.999Z')];

const ISO_8601 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** Whether the instant is one of the years 1 to 9999 in UTC. An invalid date is not. */
export function isInRange(instant: Date): boolean {
  return instant >= FIRST && instant <= LAST;
}

/**
 * Reads an instant in ISO 8601 with a time zone, such as `2026-03-01T12:00:00.120Z`, to the millisecond. Returns
 * undefined for any other text, and for a day or a time of day that does not exist: JavaScript takes 30 February for a
 * day of March, and 24:00 for the next day.
 */
export function readIsoInstant(text: string): Date | undefined {
  const [, local] = ISO_8601.exec(text) ?? [];
  if (local === undefined) return undefined;
  const instant = new Date(text);
  const isReal = !Number.isNaN(instant.getTime()) && new Date(`${local}Z`).toISOString().startsWith(local);
  return isReal ? instant : undefined;
}
