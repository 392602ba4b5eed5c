-- The tables of version 0.1.0 as its last migration left them, of whose journal these are the first and the last row.
CREATE TABLE __drizzle_migrations (
  id serial, hash text NOT NULL, created_at bigint, CONSTRAINT __drizzle_migrations_pkey PRIMARY KEY (id)
);
INSERT INTO __drizzle_migrations (hash, created_at) VALUES
  ('6b59fa5b741d183be2cefff578b2f14c9d2a3d8a1c1d5a67e0fcc8a93a4a6c32', 1795170826439),
  ('d325bb114d4f6c00e20e0f11ec4c1c7ec63794e9dca247819e80151bb98bb19d', 1795426579269);
CREATE TABLE added_users (
  application_id uuid NOT NULL, user_id uuid NOT NULL, added_at timestamptz(3) NOT NULL,
  CONSTRAINT added_users_application_id_user_id_pk PRIMARY KEY (application_id, user_id)
);
CREATE TABLE api_keys (
  application_id uuid NOT NULL, id uuid NOT NULL, digest bytea NOT NULL, created_at timestamptz(3) NOT NULL, revoked_at timestamptz(3), name text,
  expires_at timestamptz(3), last_used_at timestamptz(3), replaced_by uuid, CONSTRAINT api_keys_application_id_id_pk PRIMARY KEY (application_id, id)
);
CREATE TABLE application_users (
  application_id uuid NOT NULL, user_id uuid NOT NULL, first_signed_in_at timestamptz(3) NOT NULL,
  CONSTRAINT application_users_application_id_user_id_pk PRIMARY KEY (application_id, user_id)
);
CREATE TABLE applications (
  id uuid NOT NULL, name text NOT NULL, client_id text NOT NULL, redirect_uris text[] NOT NULL, created_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3), allow_sign_up boolean NOT NULL DEFAULT false, ask_name boolean NOT NULL DEFAULT false, session_max_age_seconds integer,
  CONSTRAINT applications_pkey PRIMARY KEY (id)
);
CREATE TABLE audit_events (
  application_id uuid NOT NULL, occurred_at timestamptz(3) NOT NULL, id uuid NOT NULL, actor_type text NOT NULL, actor text NOT NULL,
  action text NOT NULL, resource text NOT NULL, ip_address text NOT NULL, request_id text NOT NULL,
  CONSTRAINT audit_events_application_id_occurred_at_id_pk PRIMARY KEY (application_id, occurred_at, id)
);
CREATE TABLE check_ins (
  application_id uuid NOT NULL, event_id text NOT NULL, attendee_id text NOT NULL, checked_in_at timestamptz(3) NOT NULL,
  is_repeated boolean NOT NULL DEFAULT false,
  CONSTRAINT check_ins_application_id_event_id_attendee_id_pk PRIMARY KEY (application_id, event_id, attendee_id)
);
CREATE TABLE events (
  application_id uuid NOT NULL, id text NOT NULL, name text, created_at timestamptz(3) NOT NULL, deleted_at timestamptz(3),
  CONSTRAINT events_application_id_id_pk PRIMARY KEY (application_id, id)
);
CREATE TABLE known_origins (
  key bytea NOT NULL, expires_at timestamptz(3) NOT NULL, user_id uuid, CONSTRAINT known_origins_pkey PRIMARY KEY (key)
);
CREATE TABLE login_codes (
  application_id uuid NOT NULL, login_intent_id uuid NOT NULL, id uuid NOT NULL, user_id uuid, browser_digest bytea NOT NULL,
  code_digest bytea NOT NULL, attempts smallint NOT NULL DEFAULT 0, created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL, email text,
  sends smallint NOT NULL DEFAULT 1, is_redeemed boolean NOT NULL DEFAULT false, wallet_address text,
  CONSTRAINT login_codes_application_id_login_intent_id_id_pk PRIMARY KEY (application_id, login_intent_id, id)
);
CREATE TABLE login_intents (
  application_id uuid NOT NULL, id uuid NOT NULL, redirect_uri text NOT NULL, state text NOT NULL, created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL, completed_at timestamptz(3), user_id uuid, browser_digest bytea, method text NOT NULL DEFAULT ''::text,
  CONSTRAINT login_intents_application_id_id_pk PRIMARY KEY (application_id, id)
);
CREATE TABLE rate_limits (
  key bytea NOT NULL, instants timestamptz(3)[] NOT NULL DEFAULT '{}'::timestamp with time zone[],
  last_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'::uuid, expires_at timestamptz(3) NOT NULL, empty_ms bigint NOT NULL DEFAULT 0,
  CONSTRAINT rate_limits_pkey PRIMARY KEY (key)
);
CREATE TABLE session_cutoffs (
  application_id uuid NOT NULL, user_id uuid NOT NULL, cutoff_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL,
  CONSTRAINT session_cutoffs_application_id_user_id_pk PRIMARY KEY (application_id, user_id)
);
CREATE TABLE session_ids (
  application_id uuid NOT NULL, id uuid NOT NULL, user_id uuid NOT NULL, authenticated_at timestamptz(3) NOT NULL, created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL, CONSTRAINT session_ids_application_id_id_pk PRIMARY KEY (application_id, id)
);
CREATE TABLE sessions (
  application_id uuid NOT NULL, user_id uuid NOT NULL, id uuid NOT NULL, email text NOT NULL, name text, profile_image text,
  wallet_address text NOT NULL, ip_address text NOT NULL, user_agent text NOT NULL, created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL, method text NOT NULL DEFAULT ''::text,
  authenticated_at timestamptz(3) NOT NULL DEFAULT (now() - '00:15:00'::interval), began_at timestamptz(3) NOT NULL DEFAULT now(),
  cutoff_at timestamptz(3), last_authenticated_at timestamptz(3), CONSTRAINT sessions_application_id_user_id_pk PRIMARY KEY (application_id, user_id)
) WITH (fillfactor=70);
CREATE TABLE shared_wallet_addresses (
  user_id uuid NOT NULL, wallet_address text NOT NULL, CONSTRAINT shared_wallet_addresses_pkey PRIMARY KEY (user_id)
);
CREATE TABLE user_cutoffs (
  user_id uuid NOT NULL, cutoff_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL, CONSTRAINT user_cutoffs_pkey PRIMARY KEY (user_id)
);
CREATE TABLE users (
  id uuid NOT NULL, email text NOT NULL, name text, profile_image text, wallet_address text NOT NULL, created_at timestamptz(3) NOT NULL,
  deleted_at timestamptz(3), deactivated_at timestamptz(3), CONSTRAINT users_pkey PRIMARY KEY (id)
);
CREATE TABLE wallet_challenges (
  application_id uuid NOT NULL, login_intent_id uuid NOT NULL, id uuid NOT NULL, browser_digest bytea NOT NULL, address text NOT NULL,
  message text NOT NULL, created_at timestamptz(3) NOT NULL, expires_at timestamptz(3) NOT NULL, is_proved boolean NOT NULL DEFAULT false,
  CONSTRAINT wallet_challenges_application_id_login_intent_id_id_pk PRIMARY KEY (application_id, login_intent_id, id)
);
CREATE TABLE webhook_attempts (
  application_id uuid NOT NULL, webhook_id text NOT NULL, message_id bigint NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY,
  attempted_at timestamptz(3) NOT NULL, duration_ms integer NOT NULL, status_code smallint, error text, response_body text, user_id uuid,
  CONSTRAINT webhook_attempts_application_id_webhook_id_message_id_id_pk PRIMARY KEY (application_id, webhook_id, message_id, id)
);
CREATE TABLE webhook_deliveries (
  application_id uuid NOT NULL, webhook_id text NOT NULL, message_id bigint NOT NULL, status text NOT NULL DEFAULT 'pending'::text,
  due_at timestamptz(3), attempt_count integer NOT NULL DEFAULT 0, schedule_index smallint NOT NULL DEFAULT 0,
  is_manual boolean NOT NULL DEFAULT false, last_status_code smallint, last_error text, created_at timestamptz(3) NOT NULL, lease_end timestamptz(3),
  CONSTRAINT webhook_deliveries_application_id_webhook_id_message_id_pk PRIMARY KEY (application_id, webhook_id, message_id)
);
CREATE TABLE webhook_messages (
  application_id uuid NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY, type text NOT NULL, payload text NOT NULL, created_at timestamptz(3) NOT NULL,
  fanned_out_to text DEFAULT ''::text, user_id uuid, CONSTRAINT webhook_messages_application_id_id_pk PRIMARY KEY (application_id, id)
);
CREATE TABLE webhook_queues (
  application_id uuid NOT NULL, webhook_id text NOT NULL, next_at timestamptz(3), lease uuid, wake_count bigint NOT NULL DEFAULT 0,
  batch_size smallint NOT NULL DEFAULT 1, failed_batches integer NOT NULL DEFAULT 0, failing_since timestamptz(3), redeliver_since timestamptz(3),
  redeliver_until timestamptz(3), is_urgent boolean NOT NULL DEFAULT false, is_quick boolean NOT NULL DEFAULT false,
  CONSTRAINT webhook_queues_application_id_webhook_id_pk PRIMARY KEY (application_id, webhook_id)
);
CREATE TABLE webhook_signing_keys (
  application_id uuid NOT NULL, webhook_id text NOT NULL, id uuid NOT NULL, signing_key bytea NOT NULL, expires_at timestamptz(3) NOT NULL,
  CONSTRAINT webhook_signing_keys_application_id_webhook_id_id_pk PRIMARY KEY (application_id, webhook_id, id)
);
CREATE TABLE webhooks (
  application_id uuid NOT NULL, id text NOT NULL, url text NOT NULL, signing_key bytea NOT NULL, is_active boolean NOT NULL DEFAULT true,
  owner_id uuid NOT NULL, created_at timestamptz(3) NOT NULL, updated_at timestamptz(3) NOT NULL, disabled_reason text, description text,
  event_types text[] NOT NULL DEFAULT '{}'::text[], ordered boolean NOT NULL DEFAULT false,
  CONSTRAINT webhooks_application_id_id_pk PRIMARY KEY (application_id, id)
);
ALTER TABLE api_keys ADD CONSTRAINT api_keys_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES applications(id);
ALTER TABLE check_ins ADD CONSTRAINT check_ins_application_id_event_id_events_application_id_id_fk FOREIGN KEY (application_id, event_id) REFERENCES events(application_id, id);
ALTER TABLE events ADD CONSTRAINT events_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES applications(id);
ALTER TABLE login_intents ADD CONSTRAINT login_intents_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES applications(id);
ALTER TABLE login_intents ADD CONSTRAINT login_intents_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id);
ALTER TABLE sessions ADD CONSTRAINT sessions_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES applications(id);
ALTER TABLE sessions ADD CONSTRAINT sessions_user_id_users_id_fk FOREIGN KEY (user_id) REFERENCES users(id);
ALTER TABLE webhooks ADD CONSTRAINT webhooks_application_id_applications_id_fk FOREIGN KEY (application_id) REFERENCES applications(id);
ALTER TABLE webhooks ADD CONSTRAINT webhooks_owner_id_users_id_fk FOREIGN KEY (owner_id) REFERENCES users(id);
CREATE INDEX added_users_user_id_idx ON added_users (user_id, application_id);
CREATE INDEX api_keys_digest_idx ON api_keys (digest);
CREATE INDEX api_keys_id_idx ON api_keys (id);
CREATE INDEX api_keys_list_idx ON api_keys (application_id, created_at, id);
CREATE INDEX application_users_list_idx ON application_users (application_id, first_signed_in_at, user_id);
CREATE INDEX application_users_user_id_idx ON application_users (user_id);
CREATE UNIQUE INDEX applications_client_id_key ON applications (client_id);
CREATE INDEX applications_list_idx ON applications (created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX audit_events_list_idx ON audit_events (occurred_at, id);
CREATE INDEX audit_events_resource_idx ON audit_events (resource) WHERE (ip_address <> ''::text);
CREATE INDEX check_ins_list_idx ON check_ins (application_id, event_id, checked_in_at, attendee_id);
CREATE INDEX events_list_idx ON events (application_id, created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX known_origins_expires_at_idx ON known_origins (expires_at);
CREATE INDEX known_origins_user_id_idx ON known_origins (user_id);
CREATE INDEX login_codes_email_idx ON login_codes (lower(email));
CREATE INDEX login_codes_expires_at_idx ON login_codes (expires_at);
CREATE INDEX login_codes_user_id_idx ON login_codes (user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX login_intents_expires_at_idx ON login_intents (expires_at);
CREATE INDEX login_intents_id_idx ON login_intents (id);
CREATE INDEX login_intents_user_id_idx ON login_intents (user_id);
CREATE INDEX rate_limits_expires_at_idx ON rate_limits (expires_at);
CREATE INDEX session_cutoffs_expires_at_idx ON session_cutoffs (expires_at);
CREATE INDEX session_ids_expires_at_idx ON session_ids (expires_at);
CREATE INDEX sessions_list_idx ON sessions (application_id, began_at, user_id);
CREATE INDEX sessions_user_id_idx ON sessions (user_id);
CREATE INDEX sessions_without_id_idx ON sessions (application_id) WHERE (method = ''::text);
CREATE INDEX user_cutoffs_expires_at_idx ON user_cutoffs (expires_at);
CREATE UNIQUE INDEX users_email_key ON users (lower(email)) WHERE (deleted_at IS NULL);
CREATE INDEX users_list_idx ON users (created_at, id) WHERE (deleted_at IS NULL);
CREATE INDEX users_wallet_address_idx ON users (lower(wallet_address));
CREATE UNIQUE INDEX users_wallet_address_key ON users (lower(wallet_address)) WHERE ((deleted_at IS NULL) AND (wallet_address <> ''::text));
CREATE INDEX wallet_challenges_address_idx ON wallet_challenges (address);
CREATE INDEX wallet_challenges_expires_at_idx ON wallet_challenges (expires_at);
CREATE INDEX webhook_attempts_attempted_at_idx ON webhook_attempts (attempted_at);
CREATE INDEX webhook_attempts_user_id_idx ON webhook_attempts (user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX webhook_deliveries_created_at_idx ON webhook_deliveries (created_at);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (application_id, webhook_id, due_at, message_id) WHERE (due_at IS NOT NULL);
CREATE INDEX webhook_deliveries_list_idx ON webhook_deliveries (application_id, webhook_id, status, created_at, message_id);
CREATE INDEX webhook_deliveries_order_idx ON webhook_deliveries (application_id, webhook_id, message_id) WHERE (due_at IS NOT NULL);
CREATE INDEX webhook_messages_created_at_idx ON webhook_messages (created_at);
CREATE INDEX webhook_messages_fan_out_idx ON webhook_messages (application_id, id) WHERE (fanned_out_to IS NOT NULL);
CREATE INDEX webhook_messages_user_id_idx ON webhook_messages (user_id) WHERE (user_id IS NOT NULL);
CREATE INDEX webhook_queues_failing_idx ON webhook_queues (next_at) WHERE ((next_at IS NOT NULL) AND (failed_batches > 0));
CREATE INDEX webhook_queues_working_idx ON webhook_queues (is_quick, next_at) WHERE ((next_at IS NOT NULL) AND (failed_batches = 0));
CREATE INDEX webhook_signing_keys_encryption_key_idx ON webhook_signing_keys (substr(signing_key, 1, 4));
CREATE INDEX webhook_signing_keys_expires_at_idx ON webhook_signing_keys (expires_at);
CREATE INDEX webhooks_encryption_key_idx ON webhooks (substr(signing_key, 1, 4));
CREATE INDEX webhooks_list_idx ON webhooks (application_id, created_at, id);
CREATE INDEX webhooks_owner_id_idx ON webhooks (owner_id);
CREATE INDEX webhooks_subscribed_idx ON webhooks (application_id, id) WHERE (is_active AND (event_types <> '{}'::text[]));
ALTER TABLE audit_events ALTER ip_address SET STATISTICS 0;
ALTER TABLE login_codes ALTER email SET STATISTICS 0, ALTER wallet_address SET STATISTICS 0;
ALTER INDEX login_codes_email_idx ALTER 1 SET STATISTICS 0;
ALTER TABLE sessions ALTER email SET STATISTICS 0, ALTER name SET STATISTICS 0, ALTER profile_image SET STATISTICS 0, ALTER wallet_address SET STATISTICS 0, ALTER ip_address SET STATISTICS 0, ALTER user_agent SET STATISTICS 0;
ALTER TABLE shared_wallet_addresses ALTER wallet_address SET STATISTICS 0;
ALTER TABLE users ALTER email SET STATISTICS 0, ALTER name SET STATISTICS 0, ALTER profile_image SET STATISTICS 0, ALTER wallet_address SET STATISTICS 0;
ALTER INDEX users_email_key ALTER 1 SET STATISTICS 0;
ALTER INDEX users_wallet_address_idx ALTER 1 SET STATISTICS 0;
ALTER INDEX users_wallet_address_key ALTER 1 SET STATISTICS 0;
ALTER TABLE wallet_challenges ALTER address SET STATISTICS 0, ALTER message SET STATISTICS 0;
ALTER TABLE webhook_attempts ALTER response_body SET STATISTICS 0;
ALTER TABLE webhook_messages ALTER payload SET STATISTICS 0;
