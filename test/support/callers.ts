import type { DescMethodUnary, JsonObject } from '@bufbuild/protobuf';
import { type Answer as Answered, call, PROTOCOLS, supports } from './protocols.ts';

export interface Answer extends Omit<Answered, 'message'> {
  readonly message: string | undefined;
}

export const CALLERS = PROTOCOLS.map((protocol) => ({
  name: protocol.name,
  isRest: protocol.kind === 'rest',
  supports: (method: DescMethodUnary) => supports(protocol, method),
  async call(
    url: string,
    method: DescMethodUnary,
    fields: JsonObject,
    headers: Record<string, string>,
  ): Promise<Answer> {
    const { code, message, ...rest } = await call(protocol, url, method, fields, headers);
    return { code, message: message || undefined, ...rest };
  },
}));

export type Caller = (typeof CALLERS)[number];
