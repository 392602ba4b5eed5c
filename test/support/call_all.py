"""Makes the calls that standard input lists, with grpcio, and prints a line of JSON for each outcome."""
import base64
import json
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

todo = json.load(sys.stdin)
files = json_format.ParseDict(todo["descriptors"], descriptor_pb2.FileDescriptorSet(), ignore_unknown_fields=True)
pool = descriptor_pool.DescriptorPool()
for file in files.file:
    pool.Add(file)


def message_class(name):
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName(name))


with grpc.insecure_channel(todo["address"]) as channel:
    for call in todo["calls"]:
        request, response = message_class(call["input"]), message_class(call["output"])
        unary = channel.unary_unary(call["path"], request.SerializeToString, response.FromString)
        try:
            message = json_format.ParseDict(call["fields"], request())
            reply = unary(message, metadata=list(call["headers"].items()), timeout=10)
            outcome = {"code": "OK", "message": base64.b64encode(reply.SerializeToString()).decode()}
        except grpc.RpcError as error:
            outcome = {"code": error.code().name, "details": error.details()}
        print(json.dumps(outcome))
