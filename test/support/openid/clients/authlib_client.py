"""Signs a user in with Authlib: prints the URL to open, reads where the browser was sent, prints the claims as JSON."""
import json
import os
import sys

import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oidc.core import CodeIDToken

issuer = os.environ["ISSUER"]
metadata = requests.get(issuer + "/.well-known/openid-configuration").json()
assert metadata["issuer"] == issuer
verifier = generate_token(48)
nonce = generate_token()
session = OAuth2Session(
    os.environ["CLIENT_ID"],
    os.environ["CLIENT_SECRET"],
    redirect_uri=os.environ["CALLBACK"],
    scope="openid profile email",
    code_challenge_method="S256",
)
url, state = session.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce)
print(url, flush=True)
answer = sys.stdin.readline().strip()
token = session.fetch_token(
    metadata["token_endpoint"], authorization_response=answer, state=state, code_verifier=verifier
)
keys = JsonWebKey.import_key_set(requests.get(metadata["jwks_uri"]).json())
options = {"iss": {"value": issuer}, "aud": {"value": os.environ["CLIENT_ID"]}}
claims = jwt.decode(
    token["id_token"],
    keys,
    claims_cls=CodeIDToken,
    claims_options=options,
    claims_params={"nonce": nonce, "client_id": os.environ["CLIENT_ID"], "access_token": token["access_token"]},
)
claims.validate(leeway=5)
refreshed = session.refresh_token(metadata["token_endpoint"])
userinfo = session.get(metadata["userinfo_endpoint"]).json()
print(json.dumps({"claims": dict(claims), "userinfo": userinfo, "refreshed": "id_token" in refreshed}), flush=True)
