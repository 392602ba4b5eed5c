"""Prints the messages of an application as they come: USHER_URL=... API_KEY=... python3 read_messages.py"""

import os
import random
import sys
import time
from urllib.parse import urlsplit

import grpc
from google.protobuf.json_format import MessageToJson

from usher.v1 import message_pb2, message_pb2_grpc

CREDENTIALS = [("x-api-key", os.environ["API_KEY"])]
CURSOR_FILE = os.environ.get("CURSOR_FILE", "cursor")
# Pings notice a connection that is lost.
OPTIONS = [("grpc.keepalive_time_ms", 30_000), ("grpc.keepalive_timeout_ms", 10_000)]
FINAL = ("FAILED_PRECONDITION", "INVALID_ARGUMENT", "PERMISSION_DENIED", "UNAUTHENTICATED", "UNIMPLEMENTED")
MAX_WAIT_SECONDS = 30


def main():
    usher = urlsplit(os.environ.get("USHER_URL", "http://localhost:8080"))
    if usher.scheme == "https":
        channel = grpc.secure_channel(usher.netloc, grpc.ssl_channel_credentials(), OPTIONS)
    else:
        channel = grpc.insecure_channel(usher.netloc, OPTIONS)
    messages = message_pb2_grpc.MessageServiceStub(channel)
    wait = 0.5
    while True:
        started = time.monotonic()
        try:
            request = message_pb2.WatchMessagesRequest(cursor=load_cursor())
            for response in messages.WatchMessages(request, metadata=CREDENTIALS):
                for message in response.messages:
                    handle(message)
                store_cursor(response.cursor)
        except grpc.RpcError as error:
            print(f"{error.code().name}: {error.details()}", file=sys.stderr)
            if error.code().name in FINAL:
                sys.exit(1)
        # A stream ends after 30 minutes, and when Usher restarts.
        wait = 0.5 if time.monotonic() - started > MAX_WAIT_SECONDS else min(2 * wait, MAX_WAIT_SECONDS)
        time.sleep(random.uniform(0, wait))


def handle(message):
    # A message may come again: handle each message_id once.
    print(message.message_id, message.type, MessageToJson(message.data, indent=None), flush=True)


def load_cursor():
    try:
        with open(CURSOR_FILE) as file:
            return file.read()
    except FileNotFoundError:
        return "oldest"


def store_cursor(cursor):
    # A service keeps it in its database, in the transaction that has the effects of the messages.
    with open(CURSOR_FILE + ".new", "w") as file:
        file.write(cursor)
    os.replace(CURSOR_FILE + ".new", CURSOR_FILE)


if __name__ == "__main__":
    main()
