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
CREATE TABLE "user_cutoffs" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"cutoff_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
DROP INDEX "sessions_expires_at_idx";--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "session_max_age_seconds" integer;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "method" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "method" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "authenticated_at" timestamp (3) with time zone DEFAULT now() - interval '15 minutes' NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "began_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "cutoff_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "deactivated_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "application_users_list_idx" ON "application_users" USING btree ("application_id","first_signed_in_at","user_id");--> statement-breakpoint
CREATE INDEX "application_users_user_id_idx" ON "application_users" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "session_cutoffs_expires_at_idx" ON "session_cutoffs" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "session_ids_expires_at_idx" ON "session_ids" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "user_cutoffs_expires_at_idx" ON "user_cutoffs" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "sessions_list_idx" ON "sessions" USING btree ("application_id","began_at","user_id");--> statement-breakpoint
CREATE INDEX "sessions_without_id_idx" ON "sessions" USING btree ("application_id") WHERE "sessions"."method" = '';--> statement-breakpoint
ALTER TABLE "sessions" SET (fillfactor = 70);--> statement-breakpoint
INSERT INTO "session_ids" SELECT "application_id", "id", "user_id", "created_at" - interval '15 minutes', "created_at", "expires_at" FROM "sessions";--> statement-breakpoint
INSERT INTO "application_users" SELECT "application_id", "user_id", "created_at" FROM "sessions";
