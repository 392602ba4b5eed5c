"""Prints whose each session is whose ID it reads, from memory: USHER_URL=... API_KEY=... python3 check_sessions.py"""

import os
import sys
import threading
import time
from urllib.parse import urlsplit

import grpc

from usher.v1 import session_pb2, session_pb2_grpc

CREDENTIALS = [("x-api-key", os.environ["API_KEY"])]
BOUND_SECONDS = float(os.environ.get("BOUND_SECONDS", "2"))  # 0.5 to 5
TIMEOUT_SECONDS = 2
MAX_KEPT = 100_000
KEPT_SECONDS = 15 * 60
REMEMBERED_SECONDS = 20 * 60


class Sessions:
    def __init__(self, usher):
        self.usher = usher
        self.lock = threading.Lock()
        self.kept = {}  # by session ID: a live answer, and when it was asked for
        self.cutoffs = {}  # by user ID: an instant, and when it was learned
        self.since = ""
        self.known_at = self.usable_from = (-1e12, -1e12)
        threading.Thread(target=self.keep_asking, daemon=True).start()

    def check(self, session_id):
        """Returns the session if it is live."""
        with self.lock:
            session, asked_at = self.kept.get(session_id, (None, None))
            if session and self.may_use(session, asked_at):
                return session
        asked_at = read_clocks()
        request = session_pb2.CheckSessionRequest(session_id=session_id, max_staleness_ms=0)
        reply = self.usher.CheckSession(request, timeout=TIMEOUT_SECONDS, metadata=CREDENTIALS)
        with self.lock:
            self.kept.pop(session_id, None)
            if len(self.kept) >= MAX_KEPT:
                self.kept.clear()
            if reply.active:
                self.kept[session_id] = (reply.session, asked_at)
        return reply.session if reply.active else None

    def may_use(self, session, asked_at):
        cutoff, _ = self.cutoffs.get(session.user_id, (0, None))
        return (
            age_of(self.known_at) <= BOUND_SECONDS  # rule 1
            and asked_at[0] > self.usable_from[0]  # rule 2
            and cutoff < session.signed_in_at.ToNanoseconds()  # rule 3
            and age_of(asked_at) < KEPT_SECONDS
            and time.time() < session.expires_at.seconds
        )

    def keep_asking(self):
        while True:
            sent_at = read_clocks()
            request = session_pb2.ListRevocationsRequest(since=self.since)
            try:
                reply = self.usher.ListRevocations(request, timeout=BOUND_SECONDS, metadata=CREDENTIALS)
                with self.lock:
                    self.learn(reply, sent_at)
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.FAILED_PRECONDITION:  # CURSOR_EXPIRED
                    with self.lock:
                        self.since = ""
                        self.forget_all()
            time.sleep(max(0, BOUND_SECONDS / 4 - age_of(sent_at)))

    def learn(self, reply, sent_at):
        # The first answer of a chain tells nothing of what has ended before.
        if not self.since or any(each.every_user for each in reply.revocations):
            self.forget_all()
        for each in reply.revocations:
            known, _ = self.cutoffs.get(each.user_id, (0, None))
            self.cutoffs[each.user_id] = (max(known, each.cutoff_at.ToNanoseconds()), read_clocks())
        self.cutoffs = {user: cutoff for user, cutoff in self.cutoffs.items() if age_of(cutoff[1]) < REMEMBERED_SECONDS}
        self.since = reply.until
        self.known_at = sent_at

    def forget_all(self):
        self.kept.clear()
        self.usable_from = read_clocks()


def read_clocks():
    # The first stands still while the machine sleeps, and somebody may set the second one.
    return time.monotonic(), time.time()


def age_of(clocks):
    return max(time.monotonic() - clocks[0], time.time() - clocks[1])


def main():
    usher = urlsplit(os.environ.get("USHER_URL", "http://localhost:8080"))
    if usher.scheme == "https":
        channel = grpc.secure_channel(usher.netloc, grpc.ssl_channel_credentials())
    else:
        channel = grpc.insecure_channel(usher.netloc)
    sessions = Sessions(session_pb2_grpc.SessionServiceStub(channel))
    for line in sys.stdin:
        try:
            session = sessions.check(line.strip())
            print(session.user_id if session else "signed out", flush=True)
        except grpc.RpcError as error:
            print(error.code().name, flush=True)


if __name__ == "__main__":
    main()
