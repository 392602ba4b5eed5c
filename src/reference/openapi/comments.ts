import { execFileSync } from 'node:child_process';
import { type DescMessage, fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { ReadComment } from './json-schema.ts';

/** Reads the comments of the Protobuf schema, which the generated code lacks. */
export function readComments(): ReadComment {
  const set = fromBinary(FileDescriptorSetSchema, execFileSync('buf', ['build', 'proto', '--output', '-']));
  const comments = new Map<string, string>();
  for (const file of set.file) {
    for (const { path, leadingComments } of file.sourceCodeInfo?.location ?? []) {
      if (leadingComments) comments.set(nameAt(file, path), joinLines(leadingComments));
    }
  }
  return (name) => comments.get(name) ?? '';
}

/** Returns the full name of the element at a `SourceCodeInfo.Location.path`: pairs of a field number and an index. */
function nameAt(file: FileDescriptorProto, path: readonly number[]): string {
  const names = [file.package];
  let node: unknown = file;
  let schema: DescMessage | undefined = FileDescriptorProtoSchema;
  for (let at = 0; at < path.length; at += 2) {
    const field: DescMessage['fields'][number] | undefined = schema?.fields.find(({ number }) => number === path[at]);
    node = (node as Record<string, unknown[]> | undefined)?.[field?.localName ?? '']?.[path[at + 1] ?? 0];
    schema = field?.message;
    names.push(String((node as { name?: string } | undefined)?.name));
  }
  return names.join('.');
}

/** Joins the lines of each paragraph, and names fields as JSON does: `page_size` becomes `pageSize`. */
function joinLines(comment: string): string {
  const lines = comment.split('\n').map((line) => line.trim());
  return lines
    .join('\n')
    .trim()
    .replace(/(?<!\n)\n(?!\n)/g, ' ')
    .replace(/(?<!["=])\b[a-z]+(?:_[a-z]+)+\b(?!")/g, (name) =>
      name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()),
    );
}
