ALTER TABLE "api_keys" ADD COLUMN "use" text DEFAULT 'API' NOT NULL;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "open_id_connect" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "require_pkce" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "post_logout_redirect_uris" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "backchannel_logout_uri" text;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "response_mode" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "scope" smallint;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "nonce" text;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "code_challenge" "bytea";--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "redeemed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "email_verified_at" timestamp (3) with time zone;