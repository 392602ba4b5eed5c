# Signs a user in with the gem openid_connect: prints the URL to open, reads where the browser was sent, prints the
# claims as JSON. Its parser of key sets fails on keys that are neither RSA nor EC.
require 'json'
require 'openid_connect'
require 'securerandom'
require 'uri'

issuer = ENV.fetch('ISSUER')
config = OpenIDConnect::Discovery::Provider::Config.discover!(issuer)
client = OpenIDConnect::Client.new(
  identifier: ENV.fetch('CLIENT_ID'),
  secret: ENV.fetch('CLIENT_SECRET'),
  redirect_uri: ENV.fetch('CALLBACK'),
  authorization_endpoint: config.authorization_endpoint,
  token_endpoint: config.token_endpoint,
  userinfo_endpoint: config.userinfo_endpoint
)
state = SecureRandom.hex(8)
nonce = SecureRandom.hex(8)
puts client.authorization_uri(scope: %i[openid profile email], state: state, nonce: nonce)
$stdout.flush
answer = URI.decode_www_form(URI.parse($stdin.gets.strip).query).to_h
raise 'another state' unless answer['state'] == state

client.authorization_code = answer.fetch('code')
token = client.access_token!
claims = OpenIDConnect::ResponseObject::IdToken.decode(token.id_token, config.jwks)
claims.verify!(issuer: issuer, client_id: ENV.fetch('CLIENT_ID'), nonce: nonce)
puts JSON.generate({ claims: claims.raw_attributes, userinfo: token.userinfo!.raw_attributes })
$stdout.flush
