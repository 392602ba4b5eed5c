/** The messages of RPCs, whatever their protocol. */
import type { DescMessage, MessageInitShape, MessageShape } from '@bufbuild/protobuf';

/** The fields of a request, before validation: over REST a value may be any JSON. */
export type Fields<Input extends DescMessage = DescMessage> = {
  readonly [Name in keyof MessageShape<Input>]?: unknown;
};

export type ResponseMessage = MessageInitShape<DescMessage>;
