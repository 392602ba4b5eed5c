CREATE SCHEMA usher;
CREATE TABLE usher.added_users (application_id uuid NOT NULL, user_id uuid NOT NULL, added_at timestamptz(3) NOT NULL);
CREATE TABLE usher.api_keys (application_id uuid NOT NULL, id uuid NOT NULL, digest bytea NOT NULL, created_at timestamptz(3) NOT NULL, revoked_at timestamptz(3), name text, expires_at timestamptz(3), last_used_at timestamptz(3), replaced_by uuid, use text DEFAULT 'API'::text NOT NULL);
CREATE TABLE usher.application_logos (application_id uuid NOT NULL, theme text NOT NULL, digest bytea NOT NULL, media_type text NOT NULL, width smallint NOT NULL, height smallint NOT NULL, image bytea NOT NULL);
CREATE TABLE usher.application_users (application_id uuid NOT NULL, user_id uuid NOT NULL, first_signed_in_at timestamptz(3) NOT NULL, last_signed_in_at timestamptz(3) ) WITH (fillfactor='90');
CREATE TABLE usher.applications (id uuid NOT NULL, name text NOT NULL, client_id text NOT NULL, redirect_uris text[] NOT NULL, allow_sign_up boolean DEFAULT false NOT NULL, ask_name boolean DEFAULT false NOT NULL, session_max_age_seconds integer, created_at timestamptz(3) NOT NULL, deleted_at timestamptz(3), session_idle_seconds integer DEFAULT 900 NOT NULL, accent_color text, terms_uri text, privacy_uri text, support_uri text, initiate_login_uri text, login_methods text[] DEFAULT '{}'::text[] NOT NULL, single_sign_on boolean DEFAULT false NOT NULL, logo_digest bytea, dark_logo_digest bytea, logo_size smallint[], dark_logo_size smallint[], open_id_connect boolean DEFAULT false NOT NULL, require_pkce boolean DEFAULT true NOT NULL, post_logout_redirect_uris text[] DEFAULT '{}'::text[] NOT NULL, backchannel_logout_uri text, public_client boolean DEFAULT false NOT NULL);
CREATE TABLE usher.audit_events (application_id uuid NOT NULL, occurred_at timestamptz(3) NOT NULL, id uuid NOT NULL, actor_type text NOT NULL, actor text NOT NULL, action text NOT NULL, resource text NOT NULL, ip_address text NOT NULL, request_id text NOT NULL);
ALTER TABLE ONLY usher.audit_events ALTER COLUMN ip_address SET STATISTICS 0;
CREATE TABLE usher.audit_outbox (application_id uuid NOT NULL, occurred_at timestamptz(3) NOT NULL, id uuid NOT NULL, actor_type text NOT NULL, actor text NOT NULL, action text NOT NULL, resource text NOT NULL, ip_address text NOT NULL, request_id text NOT NULL);
ALTER TABLE ONLY usher.audit_outbox ALTER COLUMN ip_address SET STATISTICS 0;
CREATE TABLE usher.check_ins (application_id uuid NOT NULL, event_id text NOT NULL, attendee_id text NOT NULL, checked_in_at timestamptz(3) NOT NULL, is_repeated boolean DEFAULT false NOT NULL);
CREATE TABLE usher.events (application_id uuid NOT NULL, id text NOT NULL, name text, created_at timestamptz(3) NOT NULL, deleted_at timestamptz(3));
CREATE TABLE usher.expiry_marks (name text NOT NULL, reached_at timestamptz(3) NOT NULL);
CREATE TABLE usher.hourly_counts (name text NOT NULL, hour timestamptz(3) NOT NULL, count bigint NOT NULL);
CREATE TABLE usher.known_origins (key bytea NOT NULL, user_id uuid NOT NULL, expires_at timestamptz(3) NOT NULL);
CREATE TABLE usher.login_codes (application_id uuid NOT NULL, login_intent_id uuid NOT NULL, id uuid NOT NULL, user_id uuid, email text NOT NULL, wallet_address text, browser_digest bytea NOT NULL, code_digest bytea NOT NULL, sends smallint DEFAULT 1 NOT NULL, attempts smallint DEFAULT 0 NOT NULL, is_redeemed boolean DEFAULT false NOT NULL, created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL, is_unsent boolean DEFAULT false NOT NULL, identity_id uuid);
ALTER TABLE ONLY usher.login_codes ALTER COLUMN email SET STATISTICS 0;
ALTER TABLE ONLY usher.login_codes ALTER COLUMN wallet_address SET STATISTICS 0;
CREATE TABLE usher.login_intents (application_id uuid NOT NULL, id uuid NOT NULL, redirect_uri text NOT NULL, state text NOT NULL, created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL, completed_at timestamptz(3), user_id uuid, method text, browser_digest bytea, locale text, prompt text DEFAULT ''::text NOT NULL, max_age_seconds integer, authenticated_at timestamptz(3), response_mode text DEFAULT ''::text NOT NULL, scope smallint, nonce text, code_challenge bytea, redeemed_at timestamptz(3), ip_address text, user_agent text);
ALTER TABLE ONLY usher.login_intents ALTER COLUMN ip_address SET STATISTICS 0;
ALTER TABLE ONLY usher.login_intents ALTER COLUMN user_agent SET STATISTICS 0;
CREATE TABLE usher.muted_addresses (key bytea NOT NULL, expires_at timestamptz(3) NOT NULL);
CREATE TABLE usher.oidc_grants (application_id uuid NOT NULL, id uuid NOT NULL, user_id uuid NOT NULL, sid uuid NOT NULL, scope smallint NOT NULL, method text NOT NULL, ip_address text NOT NULL, user_agent text NOT NULL, authenticated_at timestamptz(3) NOT NULL, rotation integer NOT NULL, rotated_at timestamptz(3), created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL);
ALTER TABLE ONLY usher.oidc_grants ALTER COLUMN ip_address SET STATISTICS 0;
ALTER TABLE ONLY usher.oidc_grants ALTER COLUMN user_agent SET STATISTICS 0;
CREATE TABLE usher.passkeys (user_id uuid NOT NULL, id uuid NOT NULL, credential_id bytea NOT NULL, rp_id text NOT NULL, public_key bytea NOT NULL, sign_count bigint NOT NULL, transports text[] NOT NULL, aaguid uuid NOT NULL, is_backup_eligible boolean NOT NULL, is_backed_up boolean NOT NULL, is_user_verified boolean NOT NULL, name text NOT NULL, created_at timestamptz(3) NOT NULL, last_used_at timestamptz(3));
ALTER TABLE ONLY usher.passkeys ALTER COLUMN credential_id SET STATISTICS 0;
ALTER TABLE ONLY usher.passkeys ALTER COLUMN public_key SET STATISTICS 0;
ALTER TABLE ONLY usher.passkeys ALTER COLUMN name SET STATISTICS 0;
CREATE TABLE usher.proved_identities (application_id uuid NOT NULL, login_intent_id uuid NOT NULL, id uuid NOT NULL, browser_digest bytea NOT NULL, provider text NOT NULL, issuer text NOT NULL, subject text NOT NULL, email text NOT NULL, created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL);
ALTER TABLE ONLY usher.proved_identities ALTER COLUMN provider SET STATISTICS 0;
ALTER TABLE ONLY usher.proved_identities ALTER COLUMN issuer SET STATISTICS 0;
ALTER TABLE ONLY usher.proved_identities ALTER COLUMN subject SET STATISTICS 0;
ALTER TABLE ONLY usher.proved_identities ALTER COLUMN email SET STATISTICS 0;
CREATE TABLE usher.rate_limits (key bytea NOT NULL, empty_ms bigint NOT NULL, expires_at timestamptz(3) NOT NULL);
CREATE TABLE usher.remembered_sign_ins (token_digest bytea NOT NULL, user_id uuid NOT NULL, method text NOT NULL, authenticated_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL);
ALTER TABLE ONLY usher.remembered_sign_ins ALTER COLUMN token_digest SET STATISTICS 0;
CREATE TABLE usher.session_cutoffs (application_id uuid NOT NULL, user_id uuid NOT NULL, cutoff_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL);
CREATE TABLE usher.session_ids (application_id uuid NOT NULL, id uuid NOT NULL, user_id uuid NOT NULL, authenticated_at timestamptz(3) NOT NULL, created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL, kept_until timestamptz(3) DEFAULT (now() + '00:15:00'::interval) NOT NULL);
CREATE TABLE usher.sessions (application_id uuid NOT NULL, user_id uuid NOT NULL, id uuid NOT NULL, email text NOT NULL, name text, profile_image text, wallet_address text NOT NULL, ip_address text NOT NULL, user_agent text NOT NULL, method text NOT NULL, authenticated_at timestamptz(3) NOT NULL, last_authenticated_at timestamptz(3), began_at timestamptz(3) NOT NULL, cutoff_at timestamptz(3), created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL, browser_digest bytea ) WITH (fillfactor='70');
ALTER TABLE ONLY usher.sessions ALTER COLUMN email SET STATISTICS 0;
ALTER TABLE ONLY usher.sessions ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE ONLY usher.sessions ALTER COLUMN profile_image SET STATISTICS 0;
ALTER TABLE ONLY usher.sessions ALTER COLUMN wallet_address SET STATISTICS 0;
ALTER TABLE ONLY usher.sessions ALTER COLUMN ip_address SET STATISTICS 0;
ALTER TABLE ONLY usher.sessions ALTER COLUMN user_agent SET STATISTICS 0;
ALTER TABLE ONLY usher.sessions ALTER COLUMN browser_digest SET STATISTICS 0;
CREATE TABLE usher.user_cutoffs (user_id uuid NOT NULL, cutoff_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL);
CREATE TABLE usher.user_identities (issuer text NOT NULL, subject text NOT NULL, user_id uuid NOT NULL, provider text NOT NULL, created_at timestamptz(3) NOT NULL);
ALTER TABLE ONLY usher.user_identities ALTER COLUMN issuer SET STATISTICS 0;
ALTER TABLE ONLY usher.user_identities ALTER COLUMN subject SET STATISTICS 0;
ALTER TABLE ONLY usher.user_identities ALTER COLUMN provider SET STATISTICS 0;
CREATE TABLE usher.users (id uuid NOT NULL, email text NOT NULL, name text, profile_image text, wallet_address text NOT NULL, created_at timestamptz(3) NOT NULL, deactivated_at timestamptz(3), deleted_at timestamptz(3), email_verified_at timestamptz(3));
ALTER TABLE ONLY usher.users ALTER COLUMN email SET STATISTICS 0;
ALTER TABLE ONLY usher.users ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE ONLY usher.users ALTER COLUMN profile_image SET STATISTICS 0;
ALTER TABLE ONLY usher.users ALTER COLUMN wallet_address SET STATISTICS 0;
CREATE TABLE usher.usher_migrations (id integer NOT NULL, hash text NOT NULL, created_at bigint);
CREATE SEQUENCE usher.usher_migrations_id_seq AS integer START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1;
ALTER SEQUENCE usher.usher_migrations_id_seq OWNED BY usher.usher_migrations.id;
CREATE TABLE usher.wallet_challenges (application_id uuid NOT NULL, login_intent_id uuid NOT NULL, id uuid NOT NULL, browser_digest bytea NOT NULL, address text NOT NULL, message text NOT NULL, is_proved boolean DEFAULT false NOT NULL, created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL);
ALTER TABLE ONLY usher.wallet_challenges ALTER COLUMN address SET STATISTICS 0;
ALTER TABLE ONLY usher.wallet_challenges ALTER COLUMN message SET STATISTICS 0;
CREATE TABLE usher.webhook_attempts (application_id uuid NOT NULL, webhook_id text NOT NULL, message_id bigint NOT NULL, id bigint NOT NULL, attempted_at timestamptz(3) NOT NULL, duration_ms integer NOT NULL, status_code smallint, error text, response_body text, user_id uuid);
ALTER TABLE ONLY usher.webhook_attempts ALTER COLUMN response_body SET STATISTICS 0;
ALTER TABLE usher.webhook_attempts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME usher.webhook_attempts_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
CREATE TABLE usher.webhook_deliveries (application_id uuid NOT NULL, webhook_id text NOT NULL, message_id bigint NOT NULL, status text DEFAULT 'pending'::text NOT NULL, due_at timestamptz(3), lease_end timestamptz(3), attempt_count integer DEFAULT 0 NOT NULL, schedule_index smallint DEFAULT 0 NOT NULL, is_manual boolean DEFAULT false NOT NULL, last_status_code smallint, last_error text, created_at timestamptz(3) NOT NULL);
CREATE TABLE usher.webhook_messages (application_id uuid NOT NULL, id bigint NOT NULL, type text NOT NULL, payload text NOT NULL, created_at timestamptz(3) NOT NULL, user_id uuid, fanned_out_to text DEFAULT ''::text);
ALTER TABLE ONLY usher.webhook_messages ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE usher.webhook_messages ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY ( SEQUENCE NAME usher.webhook_messages_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1 );
CREATE TABLE usher.webhook_queues (application_id uuid NOT NULL, webhook_id text NOT NULL, next_at timestamptz(3), lease uuid, wake_count bigint DEFAULT 0 NOT NULL, is_urgent boolean DEFAULT false NOT NULL, batch_size smallint DEFAULT 1 NOT NULL, is_quick boolean DEFAULT false NOT NULL, failed_batches integer DEFAULT 0 NOT NULL, failing_since timestamptz(3), redeliver_since timestamptz(3), redeliver_until timestamptz(3));
CREATE TABLE usher.webhook_signing_keys (application_id uuid NOT NULL, webhook_id text NOT NULL, id uuid NOT NULL, signing_key bytea NOT NULL, expires_at timestamptz(3) NOT NULL);
CREATE TABLE usher.webhooks (application_id uuid NOT NULL, id text NOT NULL, url text NOT NULL, signing_key bytea NOT NULL, is_active boolean DEFAULT true NOT NULL, disabled_reason text, description text, event_types text[] DEFAULT '{}'::text[] NOT NULL, ordered boolean DEFAULT false NOT NULL, owner_id uuid, created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL);
ALTER TABLE ONLY usher.usher_migrations ALTER COLUMN id SET DEFAULT nextval('usher.usher_migrations_id_seq'::regclass);
INSERT INTO usher.added_users (application_id, user_id, added_at) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '24861179-ea01-42c1-b18a-a5ea1c208a29', '2026-11-24 02:00:00.001+00');
INSERT INTO usher.api_keys (application_id, id, digest, created_at, revoked_at, name, expires_at, last_used_at, replaced_by, use) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '9298cf41-841d-47e9-9d0e-07b2143463b0', '\x4179ec30f40a60b5b665f09aed31e198dc5331b813ea2880669029fd08d80cf6', '2026-11-24 02:00:00+00', NULL, NULL, NULL, NULL, NULL, 'API');
INSERT INTO usher.application_logos (application_id, theme, digest, media_type, width, height, image) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'light', '\x2390725915a8549e9f64618c48b413a117b69d53fb7d0f1753821be71d1a7014', 'image/png', 16, 16, '\x89504e470d0a1a0a0000000d4948445200000010000000100802000000909168360000001649444154789c63e08f8b2209318c6a18d5307c35000081e0c701a536348e0000000049454e44ae426082');
INSERT INTO usher.application_users (application_id, user_id, first_signed_in_at, last_signed_in_at) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '24861179-ea01-42c1-b18a-a5ea1c208a29', '2026-11-24 02:00:00.001+00', '2026-11-24 02:00:00.001+00'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', '2026-11-24 02:00:00.001+00', '2026-11-24 02:00:00.001+00');
INSERT INTO usher.applications (id, name, client_id, redirect_uris, allow_sign_up, ask_name, session_max_age_seconds, created_at, deleted_at, session_idle_seconds, accent_color, terms_uri, privacy_uri, support_uri, initiate_login_uri, login_methods, single_sign_on, logo_digest, dark_logo_digest, logo_size, dark_logo_size, open_id_connect, require_pkce, post_logout_redirect_uris, backchannel_logout_uri, public_client) VALUES
('00000000-0000-4000-8000-000000000001', 'Your account', 'usher-account', '{}', false, false, NULL, '2026-11-27 08:36:05.845+00', NULL, 900, NULL, NULL, NULL, NULL, NULL, '{}', true, NULL, NULL, NULL, NULL, false, true, '{}', NULL, false),
('00000000-0000-4000-8000-000000000002', 'Usher console', 'usher-console', '{}', false, false, NULL, '2026-11-27 08:36:06.254+00', NULL, 900, NULL, NULL, NULL, NULL, NULL, '{}', false, NULL, NULL, NULL, NULL, false, true, '{}', NULL, false),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'Shop', 'client_51391e3f7d29e19ee7f7bd09614fed7f', '{https://app.test/callback}', false, false, NULL, '2026-11-24 02:00:00+00', NULL, 86400, NULL, NULL, NULL, NULL, NULL, '{}', true, '\x2390725915a8549e9f64618c48b413a117b69d53fb7d0f1753821be71d1a7014', NULL, '{16,16}', NULL, true, true, '{}', 'https://app.test/logout', false);
INSERT INTO usher.audit_events (application_id, occurred_at, id, actor_type, actor, action, resource, ip_address, request_id) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00+00', '2c097684-9541-4d28-9b76-e152d82b6fb8', 'admin_key', 'admin', 'AdminService/CreateApplication', 'a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '127.0.0.1', '2467705f-558f-46d3-9b0e-85a0c8185d68'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00+00', '03df96ae-e9b7-4de3-b76d-b87d6350802c', 'admin_key', 'admin', 'AdminService/UpdateApplication', 'a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '127.0.0.1', '0754fd88-cbef-45e2-8411-9bf5e8f2b562'),
('00000000-0000-0000-0000-000000000000', '2026-11-24 02:00:00+00', '0c96d8bb-c8c4-4d20-9f10-36e0de0f1183', 'admin_key', 'admin', 'AdminService/CreateUser', '24861179-ea01-42c1-b18a-a5ea1c208a29', '127.0.0.1', 'd8f11b25-bd85-41cd-bee1-b1f6237b168d'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '02865bb7-b5bb-4e01-9729-cd22ba263790', 'login_page', '', 'POST /login/code', '24861179-ea01-42c1-b18a-a5ea1c208a29', '', '3c82d529-d54a-43da-9f5c-c17b4381a8d4'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '0ba34987-a5f8-4328-81ce-aa49300e96d5', 'login_page', '', 'POST /login/passkey/new', '6a5a0a32-bf9f-4d8c-aa49-b1597ecc467b', '', 'd79ba788-ccef-47df-9506-ed3fbc714a2d'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '756cef5f-1092-455b-bbd0-f5c213551059', 'admin_key', 'admin', 'AdminService/CompleteLogin', '24861179-ea01-42c1-b18a-a5ea1c208a29', '127.0.0.1', '7b7c5b81-42ad-4740-927d-0ab7bba9e442'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '367948ba-ab3a-4ee6-8e6a-5bddc1960a50', 'api_key', '9298cf41-841d-47e9-9d0e-07b2143463b0', 'AuthService/ExchangeToken', '24861179-ea01-42c1-b18a-a5ea1c208a29', '127.0.0.1', '6399fc89-0a9d-4b74-b1b3-823b0769c55a'),
('00000000-0000-0000-0000-000000000000', '2026-11-24 02:00:00.001+00', 'a3105eb9-b244-413a-8e2d-1442a9a8397c', 'admin_key', 'admin', 'AdminService/CreateUser', '98d1a49e-1504-460c-ad3c-51680588ad90', '127.0.0.1', 'c7ee2bd1-7d5f-41c6-8f7c-e6f1c8f7005b'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', 'e765f298-d89d-4fdf-bc54-0f6eca446071', 'admin_key', 'admin', 'AdminService/AddApplicationUser', '24861179-ea01-42c1-b18a-a5ea1c208a29', '127.0.0.1', 'f06f7757-6253-48d8-a5c4-cf56be372b0a'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', 'ffcf5008-bde7-4fab-96c3-1d1071b60980', 'api_key', '9298cf41-841d-47e9-9d0e-07b2143463b0', 'WebhookService/CreateWebhook', 'wh_16aeebfaa880bd6d34c282224defa113', '127.0.0.1', '00ee60dd-53cd-44ae-8488-40df17989b79'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '43fed6e4-2f37-4f6c-98da-b4fa031cbae9', 'api_key', '9298cf41-841d-47e9-9d0e-07b2143463b0', 'EventService/CreateEvent', 'dd8a65de-d22d-41c1-bca4-ed8cc0953560', '127.0.0.1', '8a58a524-7924-4d31-ab2f-1717f4fc1325'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '9e412fce-569e-47fd-b5a7-08a6d36f4848', 'api_key', '9298cf41-841d-47e9-9d0e-07b2143463b0', 'EventService/CheckIn', 'dd8a65de-d22d-41c1-bca4-ed8cc0953560/ada', '127.0.0.1', '19bdf778-d880-4013-bf1b-ebb4a8d3ba81'),
('00000000-0000-0000-0000-000000000000', '2026-11-24 02:00:00.001+00', '3795a56a-07fd-4426-b26f-870c13be34d1', 'admin_key', 'admin', 'AdminService/DeactivateUser', '98d1a49e-1504-460c-ad3c-51680588ad90', '127.0.0.1', '413146da-9ff6-4294-80a7-092e09e72379'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', 'd4868f20-ca90-4325-8150-e231a5389d43', 'admin_key', 'admin', 'AdminService/CompleteLogin', '24861179-ea01-42c1-b18a-a5ea1c208a29', '127.0.0.1', 'a0274f0f-d3a7-4f06-be48-9b750832a080'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '87d95c0b-0b8e-42ac-b862-887fe0586aae', 'api_key', '9298cf41-841d-47e9-9d0e-07b2143463b0', 'POST /oidc/token', '24861179-ea01-42c1-b18a-a5ea1c208a29', '127.0.0.1', '46c5bae2-844f-4aaa-90ee-7a315134785d'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '73f69eed-bfa8-46a8-8977-6f9ef9631e47', 'admin_key', 'admin', 'AdminService/SetApplicationLogo', 'a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '127.0.0.1', 'f2091cf5-bc67-4322-a367-5fae907ba615'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '51779462-c416-48f9-8a60-382f4d4caf3e', 'api_key', '9298cf41-841d-47e9-9d0e-07b2143463b0', 'WebhookService/RotateSigningKey', 'wh_16aeebfaa880bd6d34c282224defa113', '127.0.0.1', 'ccecd1ea-8411-479b-8f56-599f77c04c0d'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '6e7a6549-65e6-46a4-a99f-bf2595b323d8', 'api_key', '9298cf41-841d-47e9-9d0e-07b2143463b0', 'WebhookService/SendTestMessage', 'wh_16aeebfaa880bd6d34c282224defa113', '127.0.0.1', 'd3e63570-23a1-4921-9ca7-041d1836ded6'),
('00000000-0000-0000-0000-000000000000', '2026-11-24 02:00:00.001+00', '91b10133-58e0-4f14-a16f-7f2800dccf94', 'admin_key', 'admin', 'AdminService/CreateUser', '55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', '127.0.0.1', '4e8b2f24-1ac0-4339-963e-1a399f90b3c2'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '3570d6d1-82f2-42cb-9efc-5cf25f320b2c', 'admin_key', 'admin', 'AdminService/CompleteLogin', '55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', '127.0.0.1', '2bca9727-60e3-4c20-bdb3-d6826be2f04d'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', 'b06bb9e3-84a8-43dc-bc15-4bb4c1016820', 'api_key', '9298cf41-841d-47e9-9d0e-07b2143463b0', 'AuthService/ExchangeToken', '55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', '127.0.0.1', '8d35abed-d930-4a1a-991e-f2434902dab0'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:00.001+00', '8ba66db5-26f6-4ee8-af48-575c647f6aa0', 'api_key', '9298cf41-841d-47e9-9d0e-07b2143463b0', 'SessionService/RevokeUserSessions', '55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', '127.0.0.1', '447aa5c1-1364-417a-ad44-8b81c2ba3d21'),
('00000000-0000-0000-0000-000000000000', '2026-11-24 02:00:00.001+00', '27f6af17-7bf5-4550-ba75-77f9b3eec798', 'admin_key', 'admin', 'AdminService/CreateUser', 'efb35734-3611-4df0-b707-28626f86ba0b', '127.0.0.1', '3a38a410-0abf-4f72-aab1-7c36c3c8442c'),
('00000000-0000-0000-0000-000000000000', '2026-11-24 02:00:00.002+00', '589dadeb-423c-45a7-b6f9-4c03d91fdf48', 'admin_key', 'admin', 'AdminService/CreateUser', 'dccba5ac-4fbc-42b9-8bb3-5b6e40d343cf', '127.0.0.1', 'cf646835-c38a-4b2b-9f43-452bf52171ba');
INSERT INTO usher.check_ins (application_id, event_id, attendee_id, checked_in_at, is_repeated) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'dd8a65de-d22d-41c1-bca4-ed8cc0953560', 'ada', '2026-11-24 02:00:00.001+00', false);
INSERT INTO usher.events (application_id, id, name, created_at, deleted_at) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'dd8a65de-d22d-41c1-bca4-ed8cc0953560', NULL, '2026-11-24 02:00:00.001+00', NULL);
INSERT INTO usher.expiry_marks (name, reached_at) VALUES
('sign-ins', '2026-08-26 02:00:00.001+00');
INSERT INTO usher.hourly_counts (name, hour, count) VALUES
('webhook_attempts', '2026-11-24 02:00:00+00', 2),
('failed_webhook_attempts', '2026-11-24 02:00:00+00', 2);
INSERT INTO usher.known_origins (key, user_id, expires_at) VALUES
('\x09a66c34f1a37d74e02a075c2b7deb445f6bbc47bd8526b2d2a7651ef0c29bd9', '24861179-ea01-42c1-b18a-a5ea1c208a29', '2027-05-23 02:00:00.001+00'),
('\x607c673aa22f31c2a4e4e2b1754ff23c886b3a23946d3b5a66a4829e3dea381e', '24861179-ea01-42c1-b18a-a5ea1c208a29', '2027-05-23 02:00:00.001+00');
INSERT INTO usher.login_codes (application_id, login_intent_id, id, user_id, email, wallet_address, browser_digest, code_digest, sends, attempts, is_redeemed, created_at, expires_at, is_unsent, identity_id) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-d973-7a79-8aa8-55080a482ba3', '35a0a33e-96a5-4d10-9622-c7b6cfcd2eb1', '24861179-ea01-42c1-b18a-a5ea1c208a29', 'Ada@example.com', NULL, '\x646995f08ebe4ee3865798d429cfc53081650e1097a7dd9b6c0f40c856caee4d', '\x6535d4fd46319764f5fbc6e8ede2aa40d069b70f43bb15458437c615895d300c', 1, 1, true, '2026-11-24 02:00:00.001+00', '2026-11-24 02:10:00.001+00', false, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-e01b-7ae1-b56a-97a9e3ccad1d', 'b6cf67bc-9553-4540-a49c-314a3d60f139', 'dccba5ac-4fbc-42b9-8bb3-5b6e40d343cf', 'grace@example.com', NULL, '\x8d4b51422f631e419bf528f438b6f3111fc2f6115d5c64de52653e91708b938d', '\xc80d78d2d4b82c9daa801491e6a96789bf4ed55df928627f5bdd10a6ab0c3c6d', 1, 0, false, '2026-11-24 02:00:00.003+00', '2026-11-24 02:10:00.003+00', false, NULL);
INSERT INTO usher.login_intents (application_id, id, redirect_uri, state, created_at, expires_at, completed_at, user_id, method, browser_digest, locale, prompt, max_age_seconds, authenticated_at, response_mode, scope, nonce, code_challenge, redeemed_at, ip_address, user_agent) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-d973-7a79-8aa8-55080a482ba3', 'https://app.test/callback', 'a state of the application', '2026-11-24 02:00:00.001+00', '2026-11-24 02:30:00.001+00', '2026-11-24 02:00:00.001+00', '24861179-ea01-42c1-b18a-a5ea1c208a29', 'email', '\x646995f08ebe4ee3865798d429cfc53081650e1097a7dd9b6c0f40c856caee4d', NULL, '', NULL, NULL, '', NULL, NULL, NULL, NULL, '198.18.0.1', ''),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-dadc-70b2-858c-6d3c34fdbee0', 'https://app.test/callback', 'state', '2026-11-24 02:00:00.001+00', '2026-11-24 02:30:00.001+00', '2026-11-24 02:00:00.001+00', '24861179-ea01-42c1-b18a-a5ea1c208a29', 'page', NULL, NULL, '', NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-dba6-79e6-9cae-2ebc99ac7b07', 'https://app.test/callback', 'state', '2026-11-24 02:00:00.001+00', '2026-11-24 02:30:00.001+00', '2026-11-24 02:00:00.001+00', '24861179-ea01-42c1-b18a-a5ea1c208a29', 'page', NULL, NULL, '', NULL, NULL, 'query', 13, NULL, NULL, '2026-11-24 02:00:00.001+00', NULL, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-dc18-7e44-8dc2-d5a6980ccaeb', 'https://app.test/callback', 'state', '2026-11-24 02:00:00.001+00', '2026-11-24 02:30:00.001+00', '2026-11-24 02:00:00.001+00', '55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', 'page', NULL, NULL, '', NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-dc95-72e1-b1a7-e6450983bb37', 'https://app.test/callback', 'a state of the application', '2026-11-24 02:00:00.002+00', '2026-11-24 02:30:00.002+00', NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-e01b-7ae1-b56a-97a9e3ccad1d', 'https://app.test/callback', 'a state of the application', '2026-11-24 02:00:00.003+00', '2026-11-24 02:30:00.003+00', NULL, NULL, NULL, NULL, NULL, '', NULL, NULL, '', NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO usher.muted_addresses (key, expires_at) VALUES
('\xa3df3f63e9d691eeaf2b42ba1b89bfd5', '2026-12-24 02:00:00+00');
INSERT INTO usher.oidc_grants (application_id, id, user_id, sid, scope, method, ip_address, user_agent, authenticated_at, rotation, rotated_at, created_at, expires_at) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-dba6-79e6-9cae-2ebc99ac7b07', '24861179-ea01-42c1-b18a-a5ea1c208a29', '01a21c25-dba6-79e6-9cae-2ebc99ac7b07', 13, 'page', '127.0.0.1', '', '2026-11-24 02:00:00.001+00', 0, NULL, '2026-11-24 02:00:00.001+00', '2026-11-24 14:00:00.001+00');
INSERT INTO usher.passkeys (user_id, id, credential_id, rp_id, public_key, sign_count, transports, aaguid, is_backup_eligible, is_backed_up, is_user_verified, name, created_at, last_used_at) VALUES
('24861179-ea01-42c1-b18a-a5ea1c208a29', '6a5a0a32-bf9f-4d8c-aa49-b1597ecc467b', '\x01640987a4a9c39246b8903c9c5b4a459fd53a6f', 'usher.test', '\xa5010203262001215820fb91b42f9bc2512901e5c2ec31563dd32bd8954e687a21148aec43a778f8c75c2258202f057467b01b4826f0862bb5b2a7097ba5130d77e97d40b265b039b13444c9c3', 0, '{internal,hybrid}', 'ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4', true, true, true, 'Google Password Manager', '2026-11-24 02:00:00.001+00', NULL);
INSERT INTO usher.proved_identities (application_id, login_intent_id, id, browser_digest, provider, issuer, subject, email, created_at, expires_at) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-d973-7a79-8aa8-55080a482ba3', '3f61d063-8825-4c63-9e7d-2b40b5d0df3d', '\xcea8871a1d0c7ee38989fdd55de5ffdc443e1edca49efc05041121ce709a913a', 'acme', 'https://provider.test', 'another subject', 'new@example.com', '2026-11-24 02:00:00+00', '2026-11-24 02:30:00+00');
INSERT INTO usher.rate_limits (key, empty_ms, expires_at) VALUES
('\x3c3864f9ccbb02326c6c5018c0292012b7d7a4c0913a2c4d13db0af480961d43', 1795485780001, '2026-11-24 03:00:00.001+00'),
('\x087f1a7f6a6facb542ab99447382209da3aaec9b73790bd2afe4d2a8e5170224', 1795485636001, '2026-11-24 03:00:00.001+00'),
('\x4c15f3683fe298b8265ba46969995cc0fd0f618b243fecce05ad744f5149603b', 1795486800001, '2026-11-24 03:40:00.001+00'),
('\x9fa1568b751f99a615f2ed10ad5b8aea46bc6961b798344a41d1ff891a0c9349', 1795486800001, '2026-11-24 05:20:00.001+00'),
('\xa4baf3821737fe14386667a19e142b0f2b38eb63dfe3886f15098eca148564b0', 1795485780002, '2026-11-24 03:00:00.002+00'),
('\x34dae6fc95474155a53b3812f4cd0dfe55d9adb57704a76f45c17480aa3121f8', 1795485780003, '2026-11-24 03:00:00.003+00'),
('\xbbe629664668771d81ff61a8631c3ff4d2a74bb3dd0cbe300556c6835ac22a0a', 1795485636003, '2026-11-24 03:00:00.003+00'),
('\x23468e3958f5f8740a1d58169e538a118e57340b87e92a012b6c18a6198d5631', 1795486800003, '2026-11-24 03:40:00.003+00'),
('\x43b4536739ced1c5125f6930b699f3bb277fadf460b26f2878c17108c54ae516', 1795486800003, '2026-11-24 05:20:00.003+00'),
('\xf493bd7501c668b2198dfae79ed0a319a4d3c51dcff35f5a1fbad0dfaedb410c', 1795485672001, '2026-11-24 03:00:00.003+00');
INSERT INTO usher.remembered_sign_ins (token_digest, user_id, method, authenticated_at, expires_at) VALUES
('\x25ed5a68a6ab4565d84ef0ebe2066f43b73c7b9127a700669fd527a4d6f4b325', '24861179-ea01-42c1-b18a-a5ea1c208a29', 'email', '2026-11-24 02:00:00.001+00', '2026-11-24 14:00:00.001+00');
INSERT INTO usher.session_cutoffs (application_id, user_id, cutoff_at, expires_at) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', '2026-11-24 02:00:00.001+00', '2027-11-25 02:00:00.001+00');
INSERT INTO usher.session_ids (application_id, id, user_id, authenticated_at, created_at, expires_at, kept_until) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '648432aa-9369-402c-867d-f49f53664985', '24861179-ea01-42c1-b18a-a5ea1c208a29', '2026-11-24 02:00:00.001+00', '2026-11-24 02:00:00.001+00', '2026-11-24 02:15:00.001+00', '2026-11-25 02:15:00.001+00'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '8aeaa959-07dc-4329-96bb-83e0df9f1cca', '55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', '2026-11-24 02:00:00.001+00', '2026-11-24 02:00:00.001+00', '2026-11-24 02:15:00.001+00', '2026-11-25 02:15:00.001+00');
INSERT INTO usher.sessions (application_id, user_id, id, email, name, profile_image, wallet_address, ip_address, user_agent, method, authenticated_at, last_authenticated_at, began_at, cutoff_at, created_at, expires_at, browser_digest) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '24861179-ea01-42c1-b18a-a5ea1c208a29', '648432aa-9369-402c-867d-f49f53664985', 'Ada@example.com', 'Ada', NULL, '0xb49422544fe01278b9baacfdbe9c0f9d0771e850', '127.0.0.1', 'connect-es/2.2.0', 'page', '2026-11-24 02:00:00.001+00', NULL, '2026-11-24 02:00:00.001+00', '-infinity', '2026-11-24 02:00:00.001+00', '2026-11-24 02:15:00.001+00', NULL);
INSERT INTO usher.user_cutoffs (user_id, cutoff_at, expires_at) VALUES
('98d1a49e-1504-460c-ad3c-51680588ad90', '2026-11-24 02:00:00.001+00', '2027-11-25 02:00:00.001+00');
INSERT INTO usher.user_identities (issuer, subject, user_id, provider, created_at) VALUES
('https://provider.test', 'subject of ada', '24861179-ea01-42c1-b18a-a5ea1c208a29', 'acme', '2026-11-24 02:00:00+00');
INSERT INTO usher.users (id, email, name, profile_image, wallet_address, created_at, deactivated_at, deleted_at, email_verified_at) VALUES
('24861179-ea01-42c1-b18a-a5ea1c208a29', 'Ada@example.com', 'Ada', NULL, '0xb49422544fe01278b9baacfdbe9c0f9d0771e850', '2026-11-24 02:00:00+00', NULL, NULL, '2026-11-24 02:00:00.001+00'),
('98d1a49e-1504-460c-ad3c-51680588ad90', 'gone@example.com', NULL, NULL, '0xf07814d8f2d7e3e57a3ed222dc397b05998df8ba', '2026-11-24 02:00:00.001+00', '2026-11-24 02:00:00.001+00', NULL, NULL),
('55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', 'out@example.com', NULL, NULL, '0x5d9c8dbde5da43f1a3a9f02de4e08e3feac0bf02', '2026-11-24 02:00:00.001+00', NULL, NULL, NULL),
('efb35734-3611-4df0-b707-28626f86ba0b', '3788d141581e@example.com', NULL, NULL, '0x58f8e5681d09094d063cb4187c17d2bfe5921905', '2026-11-24 02:00:00.001+00', NULL, NULL, NULL),
('dccba5ac-4fbc-42b9-8bb3-5b6e40d343cf', 'grace@example.com', NULL, NULL, '0x6c339a8a508a68537b1f9d40fa8e447d38061c4e', '2026-11-24 02:00:00.002+00', NULL, NULL, NULL);
INSERT INTO usher.usher_migrations (id, hash, created_at) VALUES
(1, '0b0c3be475016bf33e1f715542903356c8a44667fd79bef95b90a6b690690ffa', 1795433727919),
(2, 'f28050b2967621a06ac2d36cee623bc90bb8ed7230fde8db49379cef2ea24d87', 1795445132396),
(3, 'bc6730e11da4d89aef559e35d248dee8890a85eb0ed62f0e18e00a1aac491ddc', 1795445141226),
(4, 'e830ce92903cf723c6787a44f7ec29397874540e45de0efd5aa0e211d9007c9b', 1795445894864),
(5, 'bfdcee24429997384f177116034e9d962af645f23c09c3952825bbf1eaa8848f', 1795446494483),
(6, 'a5581757805a80687e7c4a5d963d76c559b31070f2a639b87d379168e6b496b8', 1795446688032),
(7, 'f205abbc9fe0e105df71f585d5be12af244f0ce2463644d3cc927f1a66c3c57b', 1795446797499),
(8, 'df44bb3c00457d28ae0187f0df484d84ccea78d564bd0af18bb55cc54ed2163e', 1795446992483),
(9, '6c2fbd51965813d8cef8519ff511661e91cf6314e08ea5dce5fc197b6e06cadd', 1795447434327),
(10, 'b71b1df2052a1ff2e24920b8c6648feb670f40cd9e56cb9194b9fbcfe2b96de8', 1795448851916),
(11, '6256da786fca2b11fd6e1bd8923afc03f0a1d5cbf2ec62a33990cb90baeafddc', 1795449416314),
(12, '8ee13519a140a007dabf66160f570cbaa170b0a2f4d471a88dc966f8cc08f764', 1795450804837),
(13, 'cbcbcb1bd90681ba484393693f94482d6941699aa64967b8a3d3b6ed42c9daab', 1795455912930),
(14, 'bcfe21dae512e7be129fc96221d55dbfb176a4820fb3710e313a152ea523f863', 1795456563649),
(15, '34e7d55ca2c47be29723eab76e70a0643c26f85aadd98032e38210509ea20d21', 1795457008490),
(16, 'e0b03d8c71ad8b2648f29daa76dfe3ea9ad26a933b1eb0fd169d0896ec52737f', 1795457012211),
(17, 'f5603c359447c18644b5d7776196c86e6ef2e1527509c696488b7c44e0880613', 1795457017033),
(18, '3595ea3d7f41a032024d7149f40fc5e79fc59b61e1cf1999ff925ad397fee171', 1795457372768),
(19, 'ad578328a9adf221cde673c0b3c9ced9ab0607534dbe8c854bbffc27c17afc95', 1795457957804),
(20, '0e085f57ade65c315312305ff5c7d7ca39fba3fcb53129625dd9e38e70a8cfcd', 1795458083854),
(21, 'ab62977840a297e6408b5304aa8fa09d14f5f0bd06e4937b59ea2cae4d33afcc', 1795458652647),
(22, '6e6ac2ffeab822f434abc3e0188cfbe6dfa61a82933a6f3c7b1628c565d08d94', 1795458656732),
(23, '970e292188a9fcdb7d32bfb86628cca8bda62ff315bbb8de5eeb25d61e91a0e2', 1795459673670),
(24, 'b2ca20dbc2cf0dbfe48d793326e4d6a723d08bbc4b31bcfe353d375d18cc3f42', 1795460543456),
(25, 'f44c8fb8f03cae2e1366c09f0201ada2c16e39d2afb55f70f4502e1102b697d3', 1795463401383),
(26, 'a30c49d1de5ea90559643956f83e327eb4ed59cf78122aabfbaab7a1bc58395d', 1795468711447),
(27, '38584b532d5861e140be6a345d1228cf2e7de9a2f335d19ee0862dc09e8c4738', 1795470383891),
(28, '208b08a8851ae9b2276c6e3889f3a17cc71b12f06c609f0dc708de6cfdeb73c3', 1795470386699),
(29, 'c1544a8c6992fd878558016a5dba819059e83900ec9f4f669ee0a3268a5f1d90', 1795470780115);
INSERT INTO usher.wallet_challenges (application_id, login_intent_id, id, browser_digest, address, message, is_proved, created_at, expires_at) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '01a21c25-dc95-72e1-b1a7-e6450983bb37', 'd3ee0f90-3e28-46d7-a604-83295bf1b93e', '\xa7fcfa9177b967aac3371ef95edf224191e0c05cef9c91bdb4ca2ef6d0a061f6', '0x58f8e5681d09094d063cb4187c17d2bfe5921905', 'usher.test wants you to sign in with your Ethereum account:
0x58f8E5681d09094d063Cb4187c17D2BfE5921905

Sign in to Shop.

URI: https://usher.test/login
Version: 1
Chain ID: 1
Nonce: b5b7af259342160befa7e1b560e05578
Issued At: 2026-11-24T02:00:00.002Z
Expiration Time: 2026-11-24T02:10:00.002Z
Request ID: 01a21c25-dc95-72e1-b1a7-e6450983bb37', false, '2026-11-24 02:00:00.002+00', '2026-11-24 02:10:00.002+00');
INSERT INTO usher.webhook_attempts (application_id, webhook_id, message_id, id, attempted_at, duration_ms, status_code, error, response_body, user_id) OVERRIDING SYSTEM VALUE VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'wh_16aeebfaa880bd6d34c282224defa113', 3, 1, '2026-11-24 02:00:00.002+00', 507, NULL, 'The address is not allowed', NULL, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'logout_a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 7, 2, '2026-11-24 02:00:00.002+00', 503, NULL, 'The address is not allowed', NULL, NULL);
INSERT INTO usher.webhook_deliveries (application_id, webhook_id, message_id, status, due_at, lease_end, attempt_count, schedule_index, is_manual, last_status_code, last_error, created_at) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'wh_16aeebfaa880bd6d34c282224defa113', 1, 'pending', '2026-11-24 02:00:00.002+00', NULL, 0, 0, false, NULL, NULL, '2026-11-24 02:00:00.001+00'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'wh_16aeebfaa880bd6d34c282224defa113', 2, 'pending', '2026-11-24 02:00:00.002+00', NULL, 0, 0, false, NULL, NULL, '2026-11-24 02:00:00.001+00'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'wh_16aeebfaa880bd6d34c282224defa113', 4, 'pending', '2026-11-24 02:00:00.002+00', NULL, 0, 0, false, NULL, NULL, '2026-11-24 02:00:00.001+00'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'wh_16aeebfaa880bd6d34c282224defa113', 5, 'pending', '2026-11-24 02:00:00.002+00', NULL, 0, 0, false, NULL, NULL, '2026-11-24 02:00:00.001+00'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'wh_16aeebfaa880bd6d34c282224defa113', 6, 'pending', '2026-11-24 02:00:00.002+00', NULL, 0, 0, false, NULL, NULL, '2026-11-24 02:00:00.001+00'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'wh_16aeebfaa880bd6d34c282224defa113', 3, 'pending', '2026-11-24 02:00:05.075+00', NULL, 1, 1, true, NULL, 'The address is not allowed', '2026-11-24 02:00:00.001+00'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'logout_a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 7, 'pending', '2026-11-24 02:00:05.037+00', NULL, 1, 1, false, NULL, 'The address is not allowed', '2026-11-24 02:00:00.001+00');
INSERT INTO usher.webhook_messages (application_id, id, type, payload, created_at, user_id, fanned_out_to) OVERRIDING SYSTEM VALUE VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 3, 'webhook.test', '{"type":"webhook.test","timestamp":"2026-11-24T02:00:00.001Z","data":{"webhookId":"wh_16aeebfaa880bd6d34c282224defa113"}}', '2026-11-24 02:00:00.001+00', NULL, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 1, 'event.created', '{"type":"event.created","timestamp":"2026-11-24T02:00:00.001Z","data":{"eventId":"dd8a65de-d22d-41c1-bca4-ed8cc0953560","createdAt":"2026-11-24T02:00:00.001Z"}}', '2026-11-24 02:00:00.001+00', NULL, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 2, 'check_in.created', '{"type":"check_in.created","timestamp":"2026-11-24T02:00:00.001Z","data":{"eventId":"dd8a65de-d22d-41c1-bca4-ed8cc0953560","attendeeId":"ada","checkedInAt":"2026-11-24T02:00:00.001Z"}}', '2026-11-24 02:00:00.001+00', NULL, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 4, 'user.created', '{"type":"user.created","timestamp":"2026-11-24T02:00:00.001Z","data":{"id":"55fc9624-f60b-44d3-bf7a-9c07c79ac3dc","email":"out@example.com","walletAddress":"0x5d9c8dbde5da43f1a3a9f02de4e08e3feac0bf02","isActive":true,"firstSignedInAt":"2026-11-24T02:00:00.001Z"}}', '2026-11-24 02:00:00.001+00', '55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 5, 'session.created', '{"type":"session.created","timestamp":"2026-11-24T02:00:00.001Z","data":{"userId":"55fc9624-f60b-44d3-bf7a-9c07c79ac3dc","user":{"email":"out@example.com","walletAddress":"0x5d9c8dbde5da43f1a3a9f02de4e08e3feac0bf02"},"createdAt":"2026-11-24T02:00:00.001Z","expiresAt":"2026-11-24T02:15:00.001Z","ipAddress":"127.0.0.1","userAgent":"connect-es/2.2.0","method":"page"}}', '2026-11-24 02:00:00.001+00', '55fc9624-f60b-44d3-bf7a-9c07c79ac3dc', NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 6, 'session.revoked', '{"type":"session.revoked","timestamp":"2026-11-24T02:00:00.001Z","data":{"userId":"55fc9624-f60b-44d3-bf7a-9c07c79ac3dc"}}', '2026-11-24 02:00:00.001+00', NULL, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 7, 'logout', '{"type":"logout","timestamp":"2026-11-24T02:00:00.001Z","data":{"sub":"55fc9624-f60b-44d3-bf7a-9c07c79ac3dc","aud":"client_51391e3f7d29e19ee7f7bd09614fed7f"}}', '2026-11-24 02:00:00.001+00', NULL, NULL);
INSERT INTO usher.webhook_queues (application_id, webhook_id, next_at, lease, wake_count, is_urgent, batch_size, is_quick, failed_batches, failing_since, redeliver_since, redeliver_until) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'wh_16aeebfaa880bd6d34c282224defa113', '2026-11-24 02:00:05.002+00', NULL, 2, false, 1, false, 1, NULL, NULL, NULL),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'logout_a13c0ee5-e757-4d25-a4f9-91d362fe78d3', '2026-11-24 02:00:05.037+00', NULL, 2, false, 1, false, 1, '2026-11-24 02:00:00.002+00', NULL, NULL);
INSERT INTO usher.webhook_signing_keys (application_id, webhook_id, id, signing_key, expires_at) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'wh_16aeebfaa880bd6d34c282224defa113', 'ad509d83-38f4-467f-bc40-930f52862eeb', '\x72cd6e84173e0ba09ee9699e3237cde929bf0142d3da8bb733af0c56bad351a2c8478695f83733cef3b5f99d6386e6699e7087f984365771b2f6a657e8c484dbd4c494e2efaf26f0d18135f7ccadb50bc1d8', '2026-11-25 02:00:00.001+00');
INSERT INTO usher.webhooks (application_id, id, url, signing_key, is_active, disabled_reason, description, event_types, ordered, owner_id, created_at, updated_at) VALUES
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'logout_a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'https://app.test/logout', '\x', true, NULL, NULL, '{logout}', false, NULL, '2026-11-24 02:00:00+00', '2026-11-24 02:00:00+00'),
('a13c0ee5-e757-4d25-a4f9-91d362fe78d3', 'wh_16aeebfaa880bd6d34c282224defa113', 'https://hooks.test/usher', '\x72cd6e844132f34173cc4b3377933e2d6b3b9aeb551d85931c56f07a8552ed716a7cec29e3b2f11840625a16601e9a7e30e178950087e2874315d50cd2f5ce921462c63d5c3cc8791920f7d5324f0bf6d0f0', true, NULL, NULL, '{*}', false, '24861179-ea01-42c1-b18a-a5ea1c208a29', '2026-11-24 02:00:00.001+00', '2026-11-24 02:00:00.001+00');
SELECT pg_catalog.setval('usher.usher_migrations_id_seq', 29, true);
SELECT pg_catalog.setval('usher.webhook_attempts_id_seq', 2, true);
SELECT pg_catalog.setval('usher.webhook_messages_id_seq', 7, true);
ALTER TABLE ONLY usher.added_users ADD CONSTRAINT added_users_application_id_user_id_pk PRIMARY KEY (application_id, user_id);
ALTER TABLE ONLY usher.api_keys ADD CONSTRAINT api_keys_application_id_id_pk PRIMARY KEY (application_id, id);
ALTER TABLE ONLY usher.application_logos ADD CONSTRAINT application_logos_application_id_theme_pk PRIMARY KEY (application_id, theme);
ALTER TABLE ONLY usher.application_users ADD CONSTRAINT application_users_application_id_user_id_pk PRIMARY KEY (application_id, user_id);
ALTER TABLE ONLY usher.applications ADD CONSTRAINT applications_pkey PRIMARY KEY (id);
ALTER TABLE ONLY usher.audit_events ADD CONSTRAINT audit_events_application_id_occurred_at_id_pk PRIMARY KEY (application_id, occurred_at, id);
ALTER TABLE ONLY usher.audit_outbox ADD CONSTRAINT audit_outbox_id_application_id_pk PRIMARY KEY (id, application_id);
ALTER TABLE ONLY usher.check_ins ADD CONSTRAINT check_ins_application_id_event_id_attendee_id_pk PRIMARY KEY (application_id, event_id, attendee_id);
ALTER TABLE ONLY usher.events ADD CONSTRAINT events_application_id_id_pk PRIMARY KEY (application_id, id);
ALTER TABLE ONLY usher.expiry_marks ADD CONSTRAINT expiry_marks_pkey PRIMARY KEY (name);
ALTER TABLE ONLY usher.hourly_counts ADD CONSTRAINT hourly_counts_hour_name_pk PRIMARY KEY (hour, name);
ALTER TABLE ONLY usher.known_origins ADD CONSTRAINT known_origins_pkey PRIMARY KEY (key);
ALTER TABLE ONLY usher.login_codes ADD CONSTRAINT login_codes_application_id_login_intent_id_id_pk PRIMARY KEY (application_id, login_intent_id, id);
ALTER TABLE ONLY usher.login_intents ADD CONSTRAINT login_intents_application_id_id_pk PRIMARY KEY (application_id, id);
ALTER TABLE ONLY usher.muted_addresses ADD CONSTRAINT muted_addresses_pkey PRIMARY KEY (key);
ALTER TABLE ONLY usher.oidc_grants ADD CONSTRAINT oidc_grants_application_id_id_pk PRIMARY KEY (application_id, id);
ALTER TABLE ONLY usher.passkeys ADD CONSTRAINT passkeys_credential_id_pk PRIMARY KEY (credential_id);
ALTER TABLE ONLY usher.proved_identities ADD CONSTRAINT proved_identities_application_id_login_intent_id_id_pk PRIMARY KEY (application_id, login_intent_id, id);
ALTER TABLE ONLY usher.rate_limits ADD CONSTRAINT rate_limits_pkey PRIMARY KEY (key);
ALTER TABLE ONLY usher.remembered_sign_ins ADD CONSTRAINT remembered_sign_ins_pkey PRIMARY KEY (token_digest);
ALTER TABLE ONLY usher.session_cutoffs ADD CONSTRAINT session_cutoffs_application_id_user_id_pk PRIMARY KEY (application_id, user_id);
ALTER TABLE ONLY usher.session_ids ADD CONSTRAINT session_ids_application_id_id_pk PRIMARY KEY (application_id, id);
ALTER TABLE ONLY usher.sessions ADD CONSTRAINT sessions_application_id_user_id_pk PRIMARY KEY (application_id, user_id);
ALTER TABLE ONLY usher.user_cutoffs ADD CONSTRAINT user_cutoffs_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY usher.user_identities ADD CONSTRAINT user_identities_issuer_subject_pk PRIMARY KEY (issuer, subject);
ALTER TABLE ONLY usher.users ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY usher.usher_migrations ADD CONSTRAINT usher_migrations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY usher.wallet_challenges ADD CONSTRAINT wallet_challenges_application_id_login_intent_id_id_pk PRIMARY KEY (application_id, login_intent_id, id);
ALTER TABLE ONLY usher.webhook_attempts ADD CONSTRAINT webhook_attempts_application_id_webhook_id_message_id_id_pk PRIMARY KEY (application_id, webhook_id, message_id, id);
ALTER TABLE ONLY usher.webhook_deliveries ADD CONSTRAINT webhook_deliveries_application_id_webhook_id_message_id_pk PRIMARY KEY (application_id, webhook_id, message_id);
ALTER TABLE ONLY usher.webhook_messages ADD CONSTRAINT webhook_messages_application_id_id_pk PRIMARY KEY (application_id, id);
ALTER TABLE ONLY usher.webhook_queues ADD CONSTRAINT webhook_queues_application_id_webhook_id_pk PRIMARY KEY (application_id, webhook_id);
ALTER TABLE ONLY usher.webhook_signing_keys ADD CONSTRAINT webhook_signing_keys_application_id_webhook_id_id_pk PRIMARY KEY (application_id, webhook_id, id);
ALTER TABLE ONLY usher.webhooks ADD CONSTRAINT webhooks_application_id_id_pk PRIMARY KEY (application_id, id);
CREATE INDEX added_users_user_id_idx ON usher.added_users USING btree (user_id, application_id);
CREATE INDEX api_keys_digest_idx ON usher.api_keys USING btree (digest);
CREATE INDEX api_keys_id_idx ON usher.api_keys USING btree (id);
CREATE INDEX api_keys_list_idx ON usher.api_keys USING btree (application_id, created_at, id);
CREATE INDEX application_users_list_idx ON usher.application_users USING btree (application_id, first_signed_in_at, user_id);
CREATE INDEX application_users_user_id_idx ON usher.application_users USING btree (user_id);
CREATE UNIQUE INDEX applications_client_id_key ON usher.applications USING btree (client_id);
CREATE INDEX applications_list_idx ON usher.applications USING btree (created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX audit_events_act_action_idx ON usher.audit_events USING btree (action, occurred_at, id) WHERE ((action <> ALL (ARRAY['AdminService/CompleteLogin'::text, 'AuthService/ExchangeToken'::text, 'SessionService/RenewSession'::text, 'GET /account/return'::text, 'POST /login/code'::text, 'POST /login/continue'::text, 'POST /login/passkey'::text, 'POST /login/wallet'::text, 'EventService/CheckIn'::text, 'EventService/UndoCheckIn'::text, 'SessionService/RevokeSession'::text])) AND (action !~~ 'GET /login/callback%'::text) AND (action !~~ 'POST /oidc/%'::text));
CREATE INDEX audit_events_act_actor_action_idx ON usher.audit_events USING btree ((((actor || ' '::text) || action)), occurred_at, id) WHERE ((action <> ALL (ARRAY['AdminService/CompleteLogin'::text, 'AuthService/ExchangeToken'::text, 'SessionService/RenewSession'::text, 'GET /account/return'::text, 'POST /login/code'::text, 'POST /login/continue'::text, 'POST /login/passkey'::text, 'POST /login/wallet'::text, 'EventService/CheckIn'::text, 'EventService/UndoCheckIn'::text, 'SessionService/RevokeSession'::text])) AND (action !~~ 'GET /login/callback%'::text) AND (action !~~ 'POST /oidc/%'::text));
CREATE INDEX audit_events_act_actor_idx ON usher.audit_events USING btree (actor, occurred_at, id) WHERE ((action <> ALL (ARRAY['AdminService/CompleteLogin'::text, 'AuthService/ExchangeToken'::text, 'SessionService/RenewSession'::text, 'GET /account/return'::text, 'POST /login/code'::text, 'POST /login/continue'::text, 'POST /login/passkey'::text, 'POST /login/wallet'::text, 'EventService/CheckIn'::text, 'EventService/UndoCheckIn'::text, 'SessionService/RevokeSession'::text])) AND (action !~~ 'GET /login/callback%'::text) AND (action !~~ 'POST /oidc/%'::text));
CREATE INDEX audit_events_act_application_action_actor_idx ON usher.audit_events USING btree (application_id, (((action || ' '::text) || actor)), occurred_at, id) WHERE ((action <> ALL (ARRAY['AdminService/CompleteLogin'::text, 'AuthService/ExchangeToken'::text, 'SessionService/RenewSession'::text, 'GET /account/return'::text, 'POST /login/code'::text, 'POST /login/continue'::text, 'POST /login/passkey'::text, 'POST /login/wallet'::text, 'EventService/CheckIn'::text, 'EventService/UndoCheckIn'::text, 'SessionService/RevokeSession'::text])) AND (action !~~ 'GET /login/callback%'::text) AND (action !~~ 'POST /oidc/%'::text));
CREATE INDEX audit_events_act_application_action_idx ON usher.audit_events USING btree (application_id, action, occurred_at, id) WHERE ((action <> ALL (ARRAY['AdminService/CompleteLogin'::text, 'AuthService/ExchangeToken'::text, 'SessionService/RenewSession'::text, 'GET /account/return'::text, 'POST /login/code'::text, 'POST /login/continue'::text, 'POST /login/passkey'::text, 'POST /login/wallet'::text, 'EventService/CheckIn'::text, 'EventService/UndoCheckIn'::text, 'SessionService/RevokeSession'::text])) AND (action !~~ 'GET /login/callback%'::text) AND (action !~~ 'POST /oidc/%'::text));
CREATE INDEX audit_events_act_application_actor_idx ON usher.audit_events USING btree (application_id, actor, occurred_at, id) WHERE ((action <> ALL (ARRAY['AdminService/CompleteLogin'::text, 'AuthService/ExchangeToken'::text, 'SessionService/RenewSession'::text, 'GET /account/return'::text, 'POST /login/code'::text, 'POST /login/continue'::text, 'POST /login/passkey'::text, 'POST /login/wallet'::text, 'EventService/CheckIn'::text, 'EventService/UndoCheckIn'::text, 'SessionService/RevokeSession'::text])) AND (action !~~ 'GET /login/callback%'::text) AND (action !~~ 'POST /oidc/%'::text));
CREATE INDEX audit_events_act_resource_filter_idx ON usher.audit_events USING btree (resource, occurred_at, id, ((actor || ''::text)), ((action || ''::text))) WHERE ((action <> ALL (ARRAY['AdminService/CompleteLogin'::text, 'AuthService/ExchangeToken'::text, 'SessionService/RenewSession'::text, 'GET /account/return'::text, 'POST /login/code'::text, 'POST /login/continue'::text, 'POST /login/passkey'::text, 'POST /login/wallet'::text, 'EventService/CheckIn'::text, 'EventService/UndoCheckIn'::text, 'SessionService/RevokeSession'::text])) AND (action !~~ 'GET /login/callback%'::text) AND (action !~~ 'POST /oidc/%'::text));
CREATE INDEX audit_events_list_idx ON usher.audit_events USING btree (occurred_at, id);
CREATE INDEX audit_events_operator_idx ON usher.audit_events USING btree (occurred_at, id) WHERE ((actor_type = ANY (ARRAY['admin_key'::text, 'console'::text])) AND (action <> 'AdminService/CompleteLogin'::text));
CREATE INDEX audit_events_resource_idx ON usher.audit_events USING btree (resource) WHERE (ip_address <> ''::text);
CREATE INDEX audit_outbox_late_idx ON usher.audit_outbox USING btree (occurred_at, id);
CREATE INDEX check_ins_list_idx ON usher.check_ins USING btree (application_id, event_id, checked_in_at, attendee_id);
CREATE INDEX events_list_idx ON usher.events USING btree (application_id, created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX known_origins_expires_at_idx ON usher.known_origins USING btree (expires_at);
CREATE INDEX known_origins_user_id_idx ON usher.known_origins USING btree (user_id);
CREATE INDEX login_codes_email_idx ON usher.login_codes USING btree (lower(email));
ALTER INDEX usher.login_codes_email_idx ALTER COLUMN 1 SET STATISTICS 0;
CREATE INDEX login_codes_expires_at_idx ON usher.login_codes USING btree (expires_at);
CREATE INDEX login_codes_user_id_idx ON usher.login_codes USING btree (user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX login_intents_expires_at_idx ON usher.login_intents USING btree (expires_at);
CREATE INDEX login_intents_id_idx ON usher.login_intents USING btree (id);
CREATE INDEX login_intents_user_id_idx ON usher.login_intents USING btree (user_id);
CREATE INDEX muted_addresses_expires_at_idx ON usher.muted_addresses USING btree (expires_at);
CREATE INDEX oidc_grants_expires_at_idx ON usher.oidc_grants USING btree (expires_at);
CREATE INDEX oidc_grants_list_idx ON usher.oidc_grants USING btree (application_id, created_at, id);
CREATE INDEX oidc_grants_user_id_idx ON usher.oidc_grants USING btree (user_id);
CREATE INDEX passkeys_user_id_idx ON usher.passkeys USING btree (user_id, id);
CREATE INDEX proved_identities_expires_at_idx ON usher.proved_identities USING btree (expires_at);
CREATE INDEX rate_limits_expires_at_idx ON usher.rate_limits USING btree (expires_at);
CREATE INDEX remembered_sign_ins_expires_at_idx ON usher.remembered_sign_ins USING btree (expires_at);
CREATE INDEX remembered_sign_ins_user_id_idx ON usher.remembered_sign_ins USING btree (user_id);
CREATE INDEX session_cutoffs_expires_at_idx ON usher.session_cutoffs USING btree (expires_at);
CREATE INDEX session_ids_expires_at_idx ON usher.session_ids USING btree (expires_at);
CREATE INDEX session_ids_kept_until_idx ON usher.session_ids USING btree (kept_until);
CREATE INDEX sessions_list_idx ON usher.sessions USING btree (application_id, began_at, user_id);
CREATE INDEX sessions_user_id_idx ON usher.sessions USING btree (user_id);
CREATE INDEX user_cutoffs_expires_at_idx ON usher.user_cutoffs USING btree (expires_at);
CREATE INDEX user_identities_user_id_idx ON usher.user_identities USING btree (user_id);
CREATE UNIQUE INDEX users_email_key ON usher.users USING btree (lower(email)) WHERE (deleted_at IS NULL);
ALTER INDEX usher.users_email_key ALTER COLUMN 1 SET STATISTICS 0;
CREATE INDEX users_email_prefix_idx ON usher.users USING btree (lower(email) COLLATE "C") WHERE (deleted_at IS NULL);
ALTER INDEX usher.users_email_prefix_idx ALTER COLUMN 1 SET STATISTICS 0;
CREATE INDEX users_list_idx ON usher.users USING btree (created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX users_wallet_address_idx ON usher.users USING btree (lower(wallet_address));
ALTER INDEX usher.users_wallet_address_idx ALTER COLUMN 1 SET STATISTICS 0;
CREATE UNIQUE INDEX users_wallet_address_key ON usher.users USING btree (lower(wallet_address)) WHERE ((deleted_at IS NULL) AND (wallet_address <> ''::text));
ALTER INDEX usher.users_wallet_address_key ALTER COLUMN 1 SET STATISTICS 0;
CREATE INDEX wallet_challenges_address_idx ON usher.wallet_challenges USING btree (address);
CREATE INDEX wallet_challenges_expires_at_idx ON usher.wallet_challenges USING btree (expires_at);
CREATE INDEX webhook_attempts_attempted_at_idx ON usher.webhook_attempts USING btree (attempted_at);
CREATE INDEX webhook_attempts_user_id_idx ON usher.webhook_attempts USING btree (user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX webhook_deliveries_created_at_idx ON usher.webhook_deliveries USING btree (created_at);
CREATE INDEX webhook_deliveries_due_idx ON usher.webhook_deliveries USING btree (application_id, webhook_id, due_at, message_id) WHERE (due_at IS NOT NULL);
CREATE INDEX webhook_deliveries_list_idx ON usher.webhook_deliveries USING btree (application_id, webhook_id, status, created_at, message_id);
CREATE INDEX webhook_deliveries_order_idx ON usher.webhook_deliveries USING btree (application_id, webhook_id, message_id) WHERE (due_at IS NOT NULL);
CREATE INDEX webhook_messages_created_at_idx ON usher.webhook_messages USING btree (created_at);
CREATE INDEX webhook_messages_fan_out_idx ON usher.webhook_messages USING btree (application_id, id) WHERE (fanned_out_to IS NOT NULL);
CREATE INDEX webhook_messages_user_id_idx ON usher.webhook_messages USING btree (user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX webhook_queues_failing_idx ON usher.webhook_queues USING btree (next_at) WHERE ((next_at IS NOT NULL) AND (failed_batches > 0));
CREATE INDEX webhook_queues_working_idx ON usher.webhook_queues USING btree (is_quick, next_at) WHERE ((next_at IS NOT NULL) AND (failed_batches = 0));
CREATE INDEX webhook_signing_keys_encryption_key_idx ON usher.webhook_signing_keys USING btree (substr(signing_key, 1, 4));
CREATE INDEX webhook_signing_keys_expires_at_idx ON usher.webhook_signing_keys USING btree (expires_at);
CREATE INDEX webhooks_disabled_idx ON usher.webhooks USING btree (updated_at, id) WHERE (disabled_reason IS NOT NULL);
CREATE INDEX webhooks_encryption_key_idx ON usher.webhooks USING btree (substr(signing_key, 1, 4));
CREATE INDEX webhooks_list_idx ON usher.webhooks USING btree (application_id, created_at, id);
CREATE INDEX webhooks_owner_id_idx ON usher.webhooks USING btree (owner_id);
CREATE INDEX webhooks_subscribed_idx ON usher.webhooks USING btree (application_id, id) WHERE (is_active AND (event_types <> '{}'::text[]));
ALTER TABLE ONLY usher.api_keys ADD CONSTRAINT api_keys_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES usher.applications(id);
ALTER TABLE ONLY usher.application_logos ADD CONSTRAINT application_logos_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES usher.applications(id);
ALTER TABLE ONLY usher.check_ins ADD CONSTRAINT check_ins_application_id_event_id_events_application_id_id_fk FOREIGN KEY (application_id, event_id) REFERENCES usher.events(application_id, id);
ALTER TABLE ONLY usher.events ADD CONSTRAINT events_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES usher.applications(id);
ALTER TABLE ONLY usher.login_intents ADD CONSTRAINT login_intents_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES usher.applications(id);
ALTER TABLE ONLY usher.login_intents ADD CONSTRAINT login_intents_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES usher.users(id);
ALTER TABLE ONLY usher.sessions ADD CONSTRAINT sessions_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES usher.applications(id);
ALTER TABLE ONLY usher.sessions ADD CONSTRAINT sessions_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES usher.users(id);
ALTER TABLE ONLY usher.user_identities ADD CONSTRAINT user_identities_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES usher.users(id);
ALTER TABLE ONLY usher.webhooks ADD CONSTRAINT webhooks_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES usher.applications(id);
ALTER TABLE ONLY usher.webhooks ADD CONSTRAINT webhooks_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES usher.users(id);
