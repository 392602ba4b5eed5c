ALTER TABLE "login_intents" ADD COLUMN "prompt" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "max_age_seconds" integer;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "authenticated_at" timestamp (3) with time zone;