ALTER TABLE "login_intents" ADD COLUMN "ip_address" text;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "user_agent" text;--> statement-breakpoint
-- The planner's statistics are samples of values: an erasure would leave addresses in them.
ALTER TABLE "login_intents" ALTER "ip_address" SET STATISTICS 0, ALTER "user_agent" SET STATISTICS 0;
