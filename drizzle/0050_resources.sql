CREATE TABLE "consents" (
	"user_id" uuid NOT NULL,
	"application_id" uuid NOT NULL,
	"client_id" text NOT NULL,
	"client_name" text NOT NULL,
	"scope_names" text[] NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "consents_application_id_user_id_client_id_pk" PRIMARY KEY("application_id","user_id","client_id")
);
--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "resource_uri" text;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "resource_scopes" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "allow_metadata_clients" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "machine_client_ids" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "device_login" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "client_id" text;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "client_name" text;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "scope_names" text[];--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "ask_consent" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "consented_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "oidc_grants" ADD COLUMN "client_id" text;--> statement-breakpoint
ALTER TABLE "oidc_grants" ADD COLUMN "client_name" text;--> statement-breakpoint
ALTER TABLE "oidc_grants" ADD COLUMN "needs_consent" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "oidc_grants" ADD COLUMN "scope_names" text[];--> statement-breakpoint
CREATE INDEX "consents_user_id_idx" ON "consents" USING btree ("user_id");--> statement-breakpoint
-- The planner's statistics are samples of values: the URL of a client can name the person who uses it.
ALTER TABLE "login_intents" ALTER "client_id" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "login_intents" ALTER "client_name" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "oidc_grants" ALTER "client_id" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "oidc_grants" ALTER "client_name" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "consents" ALTER "client_id" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "consents" ALTER "client_name" SET STATISTICS 0;
