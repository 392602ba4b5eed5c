/** Reads an update, which names what changes: by the fields that are there, or by a field mask. */
import { isMessage } from '@bufbuild/protobuf';
import { type FieldMask, FieldMaskSchema } from '@bufbuild/protobuf/wkt';
import { ServiceError } from '../domain/errors.ts';

/**
 * Returns the fields as a PATCH has them: an absent field stays as it is, and null clears one. An RPC cannot send
 * null, and cannot tell an empty list from none. There a field mask may name the fields that change.
 *
 * @param names the fields that may change
 * @throws ServiceError `Validation failed` if the mask names another field
 */
export function toChanges<Fields extends { readonly updateMask?: unknown }>(
  fields: Fields,
  names: readonly (keyof Fields & string)[],
): { readonly [Name in keyof Fields]?: unknown } {
  if (!isMessage(fields)) return fields;
  const { updateMask } = fields;
  const hasMask = isMessage(updateMask, FieldMaskSchema) && updateMask.paths.length > 0;
  const paths = hasMask ? toNames(updateMask, names) : undefined;
  const changes = names
    .filter((name) => (paths ? paths.includes(name) : !isEmptyList(fields[name])))
    .map((name) => [name, fields[name] ?? (paths ? null : undefined)]);
  const others = Object.entries(fields).filter(([name]) => !(names as readonly string[]).includes(name));
  return Object.fromEntries([...others, ...changes]);
}

function toNames({ paths }: FieldMask, names: readonly string[]): string[] {
  const changed = paths.map((path) => path.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
  if (changed.every((name) => names.includes(name))) return changed;
  const violation = { field: 'updateMask', message: `must name fields of ${names.join(', ')}` };
  throw new ServiceError('VALIDATION_FAILED', { violations: [violation] });
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
