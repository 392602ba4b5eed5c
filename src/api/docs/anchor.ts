import type { DescMethod } from '@bufbuild/protobuf';

/** Returns the fragment of the URL of `/docs` that leads to the RPC. */
export function anchorOf(method: DescMethod): string {
  return `${method.parent.name}.${method.name}`;
}
