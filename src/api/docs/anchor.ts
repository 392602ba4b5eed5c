import type { DescMethod } from '@bufbuild/protobuf';

/** Returns the URL fragment of an RPC in `/docs`. */
export function anchorOf(method: DescMethod): string {
  return `${method.parent.name}.${method.name}`;
}
