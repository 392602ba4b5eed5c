/** gRPC server reflection, so that tools such as `buf curl` need no schema. Many know only the older version v1alpha. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { createRegistry, type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import type { ServerReflectionRequest } from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import type { ServerReflectionRequest as AlphaRequest } from '../../../gen/grpc/reflection/v1alpha/reflection_pb.ts';
import { ServiceError } from '../../domain/core/errors.ts';
import { SERVED_SERVICES } from '../catalogue.ts';

/** A message of neither version, which Connect turns into one of the right version. */
type Answer =
  | { case: 'listServicesResponse'; value: { service: { name: string }[] } }
  | { case: 'fileDescriptorResponse'; value: { fileDescriptorProto: Uint8Array<ArrayBuffer>[] } }
  | { case: 'errorResponse'; value: { errorCode: Code; errorMessage: string } };

/** Messages per stream: enough to ask for every service and file. */
const MAX_MESSAGES = 100;

/** Returns the handler of both versions, whose messages differ only in their package. */
export function createReflectionHandler() {
  const files = withDependencies(SERVED_SERVICES.map(({ file }) => file));
  const registry = createRegistry(...files.values());
  const answers = new Map<DescFile, Answer>();
  let previous: Promise<unknown> = Promise.resolve();

  /** Returns the file with all its imports, because not every client asks for them. Each file is encoded once. */
  function toFiles(file: DescFile | undefined): Answer {
    if (!file) return toError(Code.NotFound, 'There is no such file or symbol');
    const answer = answers.get(file) ?? encodeFiles(file);
    answers.set(file, answer);
    return answer;
  }

  function fileOfSymbol(symbol: string): DescFile | undefined {
    const found = registry.get(symbol);
    if (found) return found.file;
    // The symbol may be a method of a service or a field of a message.
    const parent = registry.get(symbol.slice(0, symbol.lastIndexOf('.')));
    const name = symbol.slice(symbol.lastIndexOf('.') + 1);
    const members = parent?.kind === 'service' ? parent.methods : parent?.kind === 'message' ? parent.fields : [];
    return members.some((member) => member.name === name) ? parent?.file : undefined;
  }

  function answer({ messageRequest: request }: ServerReflectionRequest | AlphaRequest): Answer {
    switch (request.case) {
      case 'listServices':
        return {
          case: 'listServicesResponse',
          value: { service: SERVED_SERVICES.map(({ typeName: name }) => ({ name })) },
        };
      case 'fileByFilename':
        return toFiles(files.get(request.value));
      case 'fileContainingSymbol':
        return toFiles(fileOfSymbol(request.value));
      case 'fileContainingExtension':
      case 'allExtensionNumbersOfType':
        return toError(Code.NotFound, 'There are no extensions');
      default:
        return toError(Code.InvalidArgument, 'The request asks for nothing');
    }
  }

  return async function* reflect<Request extends ServerReflectionRequest | AlphaRequest>(
    requests: AsyncIterable<Request>,
  ) {
    let count = 0;
    for await (const request of requests) {
      if (++count > MAX_MESSAGES) throw new ServiceError('TOO_MANY_MESSAGES');
      // All streams together get one answer per iteration of the event loop, so that a call never waits for several.
      previous = previous.then(() => nextIteration());
      await previous;
      yield { validHost: request.host, originalRequest: request, messageResponse: answer(request) };
    }
  };
}

function encodeFiles(file: DescFile): Answer {
  const files = [...withDependencies([file]).values()];
  const fileDescriptorProto = files.map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto } };
}

function toError(errorCode: Code, errorMessage: string): Answer {
  return { case: 'errorResponse', value: { errorCode, errorMessage } };
}

/** Returns each file before its imports, because some clients assume that the first file is the requested one. */
function withDependencies(given: readonly DescFile[]): Map<string, DescFile> {
  const files = new Map<string, DescFile>();
  const add = (file: DescFile) => {
    if (files.has(file.proto.name)) return;
    file.dependencies.forEach(add);
    files.set(file.proto.name, file);
  };
  given.forEach(add);
  return new Map([...files].reverse());
}
