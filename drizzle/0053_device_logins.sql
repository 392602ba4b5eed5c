ALTER TABLE "login_intents" ADD COLUMN "user_code_digest" "bytea";--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "started_from" text;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "approved" boolean;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "poll_seconds" integer;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "polled_at" timestamp (3) with time zone;--> statement-breakpoint
-- The planner's statistics are samples of values: an erasure would leave personal data in them.
ALTER TABLE "login_intents" ALTER "started_from" SET STATISTICS 0;
