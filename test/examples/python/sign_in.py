"""Signs users in with Usher over gRPC: CLIENT_ID=... API_KEY=... python3 sign_in.py

It needs stubs, which `pip install grpcio-tools` writes, as the API reference shows. Without pip, on Debian and Ubuntu, install
python3-grpcio, python3-protobuf, protobuf-compiler-grpc and libprotobuf-dev, and write them with this:

    protoc -I proto --python_out=. --grpc_out=. --plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)" proto/usher/v1/auth.proto
"""

import hmac
import os
import secrets
from html import escape
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import grpc

from usher.v1 import auth_pb2, auth_pb2_grpc

USHER_URL = os.environ.get("USHER_URL", "http://localhost:8080")
PORT = int(os.environ.get("PORT", "3000"))
CREDENTIALS = [("x-api-key", os.environ["API_KEY"])]
TIMEOUT_SECONDS = 5

auth = auth_pb2_grpc.AuthServiceStub(grpc.insecure_channel(urlsplit(USHER_URL).netloc))
people = {}  # users by a random ID of the browser; a service keeps them in its database, under user.id


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        url = urlsplit(self.path)
        cookies = {name: each.value for name, each in SimpleCookie(self.headers.get("cookie", "")).items()}
        if url.path == "/login":
            self.start_login()
        elif url.path == "/callback":
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            self.finish_login(query, cookies.get("state", ""))
        else:
            user = people.get(cookies.get("browser"))
            self.answer(200, f"Signed in as {escape(user.email)}" if user else '<a href="/login">Sign in</a>')

    def start_login(self):
        state = secrets.token_urlsafe()
        request = auth_pb2.GenerateAuthUrlRequest(
            client_id=os.environ["CLIENT_ID"], redirect_uri=f"http://127.0.0.1:{PORT}/callback", state=state
        )
        reply = auth.GenerateAuthUrl(request, metadata=CREDENTIALS, timeout=TIMEOUT_SECONDS)
        self.redirect(reply.auth_url, f"state={state}; HttpOnly; SameSite=Lax; Max-Age=1800")

    def finish_login(self, query, state):
        is_own = state and hmac.compare_digest(query.get("state", "").encode(), state.encode())
        if not is_own or query.get("iss") != USHER_URL:
            self.answer(400, "Another login")
            return
        if "authToken" not in query:
            self.redirect("/", "state=; Max-Age=0")
            return
        request = auth_pb2.ExchangeTokenRequest(auth_token=query["authToken"])
        reply = auth.ExchangeToken(request, metadata=CREDENTIALS, timeout=TIMEOUT_SECONDS)
        browser = secrets.token_urlsafe()
        people[browser] = reply.user  # reply.user.id stays the same; the address may change
        self.redirect("/", f"browser={browser}; HttpOnly; SameSite=Lax; Max-Age=900")

    def redirect(self, location, cookie):
        self.send_response(303)
        self.send_header("location", location)
        self.send_header("set-cookie", cookie)
        self.end_headers()

    def answer(self, status, text):
        self.send_response(status)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", PORT), Handler) as server:
        print(f"http://127.0.0.1:{PORT}", flush=True)
        server.serve_forever()
