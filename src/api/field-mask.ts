/** Reads which fields an update changes: the present fields, or the fields that its mask names. */
import { type DescField, type DescMessage, isMessage } from '@bufbuild/protobuf';
import { type FieldMask, FieldMaskSchema } from '@bufbuild/protobuf/wkt';
import { invalidField } from '../domain/core/errors.ts';

type Values = Readonly<Record<string, unknown>>;

export function isFieldMask({ message }: DescField): boolean {
  return message?.typeName === FieldMaskSchema.typeName;
}

/**
 * Returns the fields in the form of a PATCH: an absent field stays as it is, and null clears a field. Protobuf has no
 * null, and does not tell an empty list from an absent one. So RPCs may name the fields to change in a field mask.
 *
 * @throws ServiceError `Validation failed` if the mask names a field that cannot change
 */
export function toChanges(schema: DescMessage, fields: Values): Values {
  if (!isMessage(fields)) return fields;
  const given: Values = { ...fields };
  const names = schema.fields.filter(isChangeable).map(({ localName }) => localName);
  const mask = schema.fields.find(isFieldMask);
  const updateMask = mask && given[mask.localName];
  const hasMask = isMessage(updateMask, FieldMaskSchema) && updateMask.paths.length > 0;
  const paths = hasMask ? toNames(updateMask, names) : undefined;
  const changes = names
    .filter((name) => (paths ? paths.includes(name) : !(Array.isArray(given[name]) && given[name].length === 0)))
    .map((name) => [name, given[name] ?? (paths ? null : undefined)]);
  const others = Object.entries(given).filter(([name]) => !names.includes(name));
  return Object.fromEntries([...others, ...changes]);
}

/** The other fields are the IDs of the resource, and the mask itself. */
function isChangeable({ fieldKind, proto }: DescField): boolean {
  return fieldKind === 'list' || proto.proto3Optional;
}

function toNames({ paths }: FieldMask, names: readonly string[]): string[] {
  const changed = paths.map((path) => path.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
  if (changed.every((name) => names.includes(name))) return changed;
  throw invalidField('updateMask', `must name fields of ${names.join(', ')}`);
}
