CREATE TABLE "api_keys" (
	"application_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"digest" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"revoked_at" timestamp (3) with time zone,
	"name" text,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"replaced_by" uuid,
	CONSTRAINT "api_keys_application_id_id_pk" PRIMARY KEY("application_id","id")
);
--> statement-breakpoint
CREATE TABLE "applications" (
	"id" uuid PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"client_id" text NOT NULL,
	"redirect_uris" text[] NOT NULL,
	"allow_sign_up" boolean DEFAULT false NOT NULL,
	"ask_name" boolean DEFAULT false NOT NULL,
	"session_max_age_seconds" integer,
	"created_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "check_ins" (
	"application_id" uuid NOT NULL,
	"event_id" text NOT NULL,
	"attendee_id" text NOT NULL,
	"checked_in_at" timestamp (3) with time zone NOT NULL,
	"is_repeated" boolean DEFAULT false NOT NULL,
	CONSTRAINT "check_ins_application_id_event_id_attendee_id_pk" PRIMARY KEY("application_id","event_id","attendee_id")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"application_id" uuid NOT NULL,
	"id" text NOT NULL,
	"name" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "events_application_id_id_pk" PRIMARY KEY("application_id","id")
);
--> statement-breakpoint
CREATE TABLE "login_intents" (
	"application_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"redirect_uri" text NOT NULL,
	"state" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"completed_at" timestamp (3) with time zone,
	"user_id" uuid,
	"method" text,
	"browser_digest" "bytea",
	CONSTRAINT "login_intents_application_id_id_pk" PRIMARY KEY("application_id","id")
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" uuid PRIMARY KEY NOT NULL,
	"email" text NOT NULL,
	"name" text,
	"profile_image" text,
	"wallet_address" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"deactivated_at" timestamp (3) with time zone,
	"deleted_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "known_origins" (
	"key" "bytea" PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "login_codes" (
	"application_id" uuid NOT NULL,
	"login_intent_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"user_id" uuid,
	"email" text NOT NULL,
	"wallet_address" text,
	"browser_digest" "bytea" NOT NULL,
	"code_digest" "bytea" NOT NULL,
	"sends" smallint DEFAULT 1 NOT NULL,
	"attempts" smallint DEFAULT 0 NOT NULL,
	"is_redeemed" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "login_codes_application_id_login_intent_id_id_pk" PRIMARY KEY("application_id","login_intent_id","id")
);
--> statement-breakpoint
CREATE TABLE "rate_limits" (
	"key" "bytea" PRIMARY KEY NOT NULL,
	"empty_ms" bigint NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "wallet_challenges" (
	"application_id" uuid NOT NULL,
	"login_intent_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"browser_digest" "bytea" NOT NULL,
	"address" text NOT NULL,
	"message" text NOT NULL,
	"is_proved" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "wallet_challenges_application_id_login_intent_id_id_pk" PRIMARY KEY("application_id","login_intent_id","id")
);
--> statement-breakpoint
CREATE TABLE "added_users" (
	"application_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"added_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "added_users_application_id_user_id_pk" PRIMARY KEY("application_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "application_users" (
	"application_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"first_signed_in_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "application_users_application_id_user_id_pk" PRIMARY KEY("application_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "session_cutoffs" (
	"application_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"cutoff_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "session_cutoffs_application_id_user_id_pk" PRIMARY KEY("application_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "session_ids" (
	"application_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"authenticated_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "session_ids_application_id_id_pk" PRIMARY KEY("application_id","id")
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"application_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"email" text NOT NULL,
	"name" text,
	"profile_image" text,
	"wallet_address" text NOT NULL,
	"ip_address" text NOT NULL,
	"user_agent" text NOT NULL,
	"method" text NOT NULL,
	"authenticated_at" timestamp (3) with time zone NOT NULL,
	"last_authenticated_at" timestamp (3) with time zone,
	"began_at" timestamp (3) with time zone NOT NULL,
	"cutoff_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "sessions_application_id_user_id_pk" PRIMARY KEY("application_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "user_cutoffs" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"cutoff_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_attempts" (
	"application_id" uuid NOT NULL,
	"webhook_id" text NOT NULL,
	"message_id" bigint NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "webhook_attempts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"attempted_at" timestamp (3) with time zone NOT NULL,
	"duration_ms" integer NOT NULL,
	"status_code" smallint,
	"error" text,
	"response_body" text,
	"user_id" uuid,
	CONSTRAINT "webhook_attempts_application_id_webhook_id_message_id_id_pk" PRIMARY KEY("application_id","webhook_id","message_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"application_id" uuid NOT NULL,
	"webhook_id" text NOT NULL,
	"message_id" bigint NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"due_at" timestamp (3) with time zone,
	"lease_end" timestamp (3) with time zone,
	"attempt_count" integer DEFAULT 0 NOT NULL,
	"schedule_index" smallint DEFAULT 0 NOT NULL,
	"is_manual" boolean DEFAULT false NOT NULL,
	"last_status_code" smallint,
	"last_error" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhook_deliveries_application_id_webhook_id_message_id_pk" PRIMARY KEY("application_id","webhook_id","message_id")
);
--> statement-breakpoint
CREATE TABLE "webhook_messages" (
	"application_id" uuid NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "webhook_messages_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"type" text NOT NULL,
	"payload" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"user_id" uuid,
	"fanned_out_to" text DEFAULT '',
	CONSTRAINT "webhook_messages_application_id_id_pk" PRIMARY KEY("application_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhook_queues" (
	"application_id" uuid NOT NULL,
	"webhook_id" text NOT NULL,
	"next_at" timestamp (3) with time zone,
	"lease" uuid,
	"wake_count" bigint DEFAULT 0 NOT NULL,
	"is_urgent" boolean DEFAULT false NOT NULL,
	"batch_size" smallint DEFAULT 1 NOT NULL,
	"is_quick" boolean DEFAULT false NOT NULL,
	"failed_batches" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp (3) with time zone,
	"redeliver_since" timestamp (3) with time zone,
	"redeliver_until" timestamp (3) with time zone,
	CONSTRAINT "webhook_queues_application_id_webhook_id_pk" PRIMARY KEY("application_id","webhook_id")
);
--> statement-breakpoint
CREATE TABLE "webhook_signing_keys" (
	"application_id" uuid NOT NULL,
	"webhook_id" text NOT NULL,
	"id" uuid NOT NULL,
	"signing_key" "bytea" NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhook_signing_keys_application_id_webhook_id_id_pk" PRIMARY KEY("application_id","webhook_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"application_id" uuid NOT NULL,
	"id" text NOT NULL,
	"url" text NOT NULL,
	"signing_key" "bytea" NOT NULL,
	"is_active" boolean DEFAULT true NOT NULL,
	"disabled_reason" text,
	"description" text,
	"event_types" text[] DEFAULT '{}' NOT NULL,
	"ordered" boolean DEFAULT false NOT NULL,
	"owner_id" uuid NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhooks_application_id_id_pk" PRIMARY KEY("application_id","id")
);
--> statement-breakpoint
CREATE TABLE "audit_events" (
	"application_id" uuid NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"id" uuid NOT NULL,
	"actor_type" text NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"resource" text NOT NULL,
	"ip_address" text NOT NULL,
	"request_id" text NOT NULL,
	CONSTRAINT "audit_events_application_id_occurred_at_id_pk" PRIMARY KEY("application_id","occurred_at","id")
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "public"."applications"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "check_ins" ADD CONSTRAINT "check_ins_application_id_event_id_events_application_id_id_fk" FOREIGN KEY ("application_id","event_id") REFERENCES "public"."events"("application_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "public"."applications"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "login_intents" ADD CONSTRAINT "login_intents_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "public"."applications"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "login_intents" ADD CONSTRAINT "login_intents_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "public"."applications"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "public"."applications"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_digest_idx" ON "api_keys" USING btree ("digest");--> statement-breakpoint
CREATE INDEX "api_keys_id_idx" ON "api_keys" USING btree ("id");--> statement-breakpoint
CREATE INDEX "api_keys_list_idx" ON "api_keys" USING btree ("application_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "applications_client_id_key" ON "applications" USING btree ("client_id");--> statement-breakpoint
CREATE INDEX "applications_list_idx" ON "applications" USING btree ("created_at","id") WHERE "applications"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "check_ins_list_idx" ON "check_ins" USING btree ("application_id","event_id","checked_in_at","attendee_id");--> statement-breakpoint
CREATE INDEX "events_list_idx" ON "events" USING btree ("application_id","created_at","id") WHERE "events"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "login_intents_id_idx" ON "login_intents" USING btree ("id");--> statement-breakpoint
CREATE INDEX "login_intents_expires_at_idx" ON "login_intents" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "login_intents_user_id_idx" ON "login_intents" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_key" ON "users" USING btree (lower("email")) WHERE "users"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "users_wallet_address_key" ON "users" USING btree (lower("wallet_address")) WHERE "users"."deleted_at" is null and "users"."wallet_address" <> '';--> statement-breakpoint
CREATE INDEX "users_wallet_address_idx" ON "users" USING btree (lower("wallet_address"));--> statement-breakpoint
CREATE INDEX "users_list_idx" ON "users" USING btree ("created_at","id") WHERE "users"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "known_origins_expires_at_idx" ON "known_origins" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "known_origins_user_id_idx" ON "known_origins" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "login_codes_expires_at_idx" ON "login_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "login_codes_email_idx" ON "login_codes" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "login_codes_user_id_idx" ON "login_codes" USING btree ("user_id") WHERE "login_codes"."user_id" is not null;--> statement-breakpoint
CREATE INDEX "rate_limits_expires_at_idx" ON "rate_limits" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "wallet_challenges_expires_at_idx" ON "wallet_challenges" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "wallet_challenges_address_idx" ON "wallet_challenges" USING btree ("address");--> statement-breakpoint
CREATE INDEX "added_users_user_id_idx" ON "added_users" USING btree ("user_id","application_id");--> statement-breakpoint
CREATE INDEX "application_users_list_idx" ON "application_users" USING btree ("application_id","first_signed_in_at","user_id");--> statement-breakpoint
CREATE INDEX "application_users_user_id_idx" ON "application_users" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "session_cutoffs_expires_at_idx" ON "session_cutoffs" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "session_ids_expires_at_idx" ON "session_ids" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sessions_user_id_idx" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_list_idx" ON "sessions" USING btree ("application_id","began_at","user_id");--> statement-breakpoint
CREATE INDEX "user_cutoffs_expires_at_idx" ON "user_cutoffs" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "webhook_attempts_attempted_at_idx" ON "webhook_attempts" USING btree ("attempted_at");--> statement-breakpoint
CREATE INDEX "webhook_attempts_user_id_idx" ON "webhook_attempts" USING btree ("user_id") WHERE "webhook_attempts"."user_id" is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due_idx" ON "webhook_deliveries" USING btree ("application_id","webhook_id","due_at","message_id") WHERE "webhook_deliveries"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_order_idx" ON "webhook_deliveries" USING btree ("application_id","webhook_id","message_id") WHERE "webhook_deliveries"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_list_idx" ON "webhook_deliveries" USING btree ("application_id","webhook_id","status","created_at","message_id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_created_at_idx" ON "webhook_deliveries" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "webhook_messages_fan_out_idx" ON "webhook_messages" USING btree ("application_id","id") WHERE "webhook_messages"."fanned_out_to" is not null;--> statement-breakpoint
CREATE INDEX "webhook_messages_created_at_idx" ON "webhook_messages" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "webhook_messages_user_id_idx" ON "webhook_messages" USING btree ("user_id") WHERE "webhook_messages"."user_id" is not null;--> statement-breakpoint
CREATE INDEX "webhook_queues_working_idx" ON "webhook_queues" USING btree ("is_quick","next_at") WHERE "webhook_queues"."next_at" is not null and "webhook_queues"."failed_batches" = 0;--> statement-breakpoint
CREATE INDEX "webhook_queues_failing_idx" ON "webhook_queues" USING btree ("next_at") WHERE "webhook_queues"."next_at" is not null and "webhook_queues"."failed_batches" > 0;--> statement-breakpoint
CREATE INDEX "webhook_signing_keys_encryption_key_idx" ON "webhook_signing_keys" USING btree (substr("signing_key", 1, 4));--> statement-breakpoint
CREATE INDEX "webhook_signing_keys_expires_at_idx" ON "webhook_signing_keys" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "webhooks_owner_id_idx" ON "webhooks" USING btree ("owner_id");--> statement-breakpoint
CREATE INDEX "webhooks_encryption_key_idx" ON "webhooks" USING btree (substr("signing_key", 1, 4));--> statement-breakpoint
CREATE INDEX "webhooks_list_idx" ON "webhooks" USING btree ("application_id","created_at","id");--> statement-breakpoint
CREATE INDEX "webhooks_subscribed_idx" ON "webhooks" USING btree ("application_id","id") WHERE "webhooks"."is_active" and "webhooks"."event_types" <> '{}';--> statement-breakpoint
CREATE INDEX "audit_events_list_idx" ON "audit_events" USING btree ("occurred_at","id");--> statement-breakpoint
CREATE INDEX "audit_events_resource_idx" ON "audit_events" USING btree ("resource") WHERE "audit_events"."ip_address" <> '';--> statement-breakpoint
-- A renewal updates its row on the same page (HOT) if there is room.
ALTER TABLE "sessions" SET (fillfactor = 70);--> statement-breakpoint
-- The planner's statistics are samples of values: an erasure would leave addresses in them.
ALTER TABLE "users" ALTER "email" SET STATISTICS 0, ALTER "name" SET STATISTICS 0, ALTER "profile_image" SET STATISTICS 0, ALTER "wallet_address" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "sessions" ALTER "email" SET STATISTICS 0, ALTER "name" SET STATISTICS 0, ALTER "profile_image" SET STATISTICS 0, ALTER "wallet_address" SET STATISTICS 0, ALTER "ip_address" SET STATISTICS 0, ALTER "user_agent" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "login_codes" ALTER "email" SET STATISTICS 0, ALTER "wallet_address" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "wallet_challenges" ALTER "address" SET STATISTICS 0, ALTER "message" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "webhook_messages" ALTER "payload" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "webhook_attempts" ALTER "response_body" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "audit_events" ALTER "ip_address" SET STATISTICS 0;--> statement-breakpoint
ALTER INDEX "users_email_key" ALTER 1 SET STATISTICS 0;--> statement-breakpoint
ALTER INDEX "users_wallet_address_key" ALTER 1 SET STATISTICS 0;--> statement-breakpoint
ALTER INDEX "users_wallet_address_idx" ALTER 1 SET STATISTICS 0;--> statement-breakpoint
ALTER INDEX "login_codes_email_idx" ALTER 1 SET STATISTICS 0;
