"""Tests sign_in.py with the real Usher: python -m unittest"""

import json
import os
import subprocess
import threading
import unittest
from http.cookiejar import CookieJar
from http.server import ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, Request, build_opener, urlopen


class Usher:
    """The members of the package, by their paths on the control port."""

    def __init__(self):
        # With a pipe for its input, it ends with the tests, however these end.
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(["npx", "usher-testing"], stdin=pipe, stdout=pipe, text=True)
        self.started = json.loads(self.process.stdout.readline())
        self.url = self.started["url"]

    def call(self, path, **parameters):
        headers = {"authorization": f"Bearer {self.started['controlKey']}", "content-type": "application/json"}
        request = Request(self.started["controlUrl"] + path, json.dumps(parameters).encode(), headers)
        with urlopen(request) as reply:
            return json.load(reply)

    def stop(self):
        self.process.communicate()  # closes the pipe, and waits


class NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    def __init__(self):
        self.opener = build_opener(NoRedirects, HTTPCookieProcessor(CookieJar()))

    def open(self, url):
        """Returns status, text and Location."""
        try:
            reply = self.opener.open(url)
        except HTTPError as error:  # also a redirect
            reply = error
        with reply:
            return reply.status, reply.read().decode(), reply.headers["location"]


class SignInTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.usher = Usher()
        cls.addClassCleanup(cls.usher.stop)
        shop = cls.usher.call("/create-application", redirectUris=["http://127.0.0.1/callback"])
        os.environ.update(USHER_URL=cls.usher.url, CLIENT_ID=shop["clientId"], API_KEY=shop["apiKey"])
        import sign_in  # reads the variables

        server = ThreadingHTTPServer(("127.0.0.1", 0), sign_in.Handler)
        sign_in.PORT = server.server_port
        threading.Thread(target=server.serve_forever).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.shop = f"http://127.0.0.1:{sign_in.PORT}"

    def test_ada_signs_in(self):
        browser = Browser()
        self.assertIn("Sign in", browser.open(self.shop)[1])
        auth_url = browser.open(f"{self.shop}/login")[2]
        redirect_url = self.usher.call("/sign-in", authUrl=auth_url, user="ada@example.com")["redirectUrl"]
        self.assertEqual(browser.open(redirect_url)[2], "/")
        self.assertEqual(browser.open(self.shop)[1], "Signed in as ada@example.com")

    def test_the_login_of_somebody_else_signs_nobody_in(self):
        auth_url = Browser().open(f"{self.shop}/login")[2]
        redirect_url = self.usher.call("/sign-in", authUrl=auth_url, user="eve@example.com")["redirectUrl"]
        browser = Browser()
        browser.open(f"{self.shop}/login")
        self.assertEqual(browser.open(redirect_url)[0], 400)
        self.assertIn("Sign in", browser.open(self.shop)[1])

    def test_a_login_that_takes_longer_than_half_an_hour_fails(self):
        auth_url = Browser().open(f"{self.shop}/login")[2]
        self.usher.call("/clock/advance", duration="31m")
        with self.assertRaises(HTTPError) as refused:
            self.usher.call("/sign-in", authUrl=auth_url, user="ada@example.com")
        with refused.exception as reply:
            self.assertEqual(json.load(reply)["reason"], "LOGIN_INTENT_EXPIRED")


if __name__ == "__main__":
    unittest.main()
