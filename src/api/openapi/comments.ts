import { execFileSync } from 'node:child_process';
import { type AnyDesc, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { getComments } from '@bufbuild/protoplugin';
import type { ReadComment } from './json-schema.ts';

/** Reads the comments of the schema, which generated code does not hold. */
export function readComments(): ReadComment {
  const set = fromBinary(FileDescriptorSetSchema, execFileSync('buf', ['build', 'proto', '--output', '-']));
  const comments = new Map<string, string>();
  const keep = (name: string, desc: Exclude<AnyDesc, { kind: 'file' }>) => {
    const lines = (getComments(desc).leading ?? '').split('\n').map((line) => line.trim());
    comments.set(
      name,
      lines
        .join('\n')
        .trim()
        .replace(/(?<!\n)\n(?!\n)/g, ' '),
    );
  };
  for (const desc of createFileRegistry(set)) {
    keep(desc.typeName, desc);
    if (desc.kind === 'message') for (const field of desc.fields) keep(`${desc.typeName}.${field.name}`, field);
    if (desc.kind === 'service') for (const method of desc.methods) keep(`${desc.typeName}.${method.name}`, method);
  }
  return (name) => comments.get(name) ?? '';
}
