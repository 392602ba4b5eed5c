"""Checks an attendee in over gRPC: API_KEY=... python3 check_in.py EVENT_ID ATTENDEE_ID

It needs Debian's python3-grpcio, python3-protobuf, protobuf-compiler-grpc and libprotobuf-dev, and the stubs that this
writes:

    protoc -I proto --python_out=. --grpc_out=. --plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)" proto/usher/v1/event.proto
"""

import os
import sys

import grpc

from usher.v1 import event_pb2, event_pb2_grpc

TIMEOUT_SECONDS = 5


def main(event_id: str, attendee_id: str) -> int:
    address = os.environ.get("USHER_ADDRESS", "localhost:8080")
    credentials = [("x-api-key", os.environ["API_KEY"])]
    request = event_pb2.CheckInRequest(event_id=event_id, attendee_id=attendee_id)
    with grpc.insecure_channel(address) as channel:
        events = event_pb2_grpc.EventServiceStub(channel)
        try:
            response = events.CheckIn(request, metadata=credentials, timeout=TIMEOUT_SECONDS)
        except grpc.RpcError as error:
            print(f"{error.code().name}: {error.details()}", file=sys.stderr)
            return 1
    time = response.check_in.checked_in_at.ToDatetime().strftime("%H:%M:%S")
    print(f"{attendee_id} {'was already' if response.already_checked_in else 'is'} checked in: {time}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
