import {
  create,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type Message,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

/** The unary methods of a service for grpc-js, with the generated messages that all servers here use. */
export function definitionOf(service: DescService): ServiceDefinition {
  const unary = service.methods.filter((method): method is DescMethodUnary => method.methodKind === 'unary');
  return Object.fromEntries(unary.map((method) => [method.localName, toDefinition(method)]));
}

type Init = MessageInitShape<DescMethodUnary['output']>;

function toDefinition({ parent, name, input, output }: DescMethodUnary): MethodDefinition<Message, Init> {
  return {
    path: `/${parent.typeName}/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (message) => Buffer.from(toBinary(input, message)),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    responseSerialize: (init) => asBuffer(toBinary(output, create(output, init))),
    responseDeserialize: (bytes) => fromBinary(output, bytes),
  };
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
