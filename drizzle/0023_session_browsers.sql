ALTER TABLE "sessions" ADD COLUMN "browser_digest" "bytea";--> statement-breakpoint
-- The planner's statistics are samples of values: an erasure would leave digests of browsers in them.
ALTER TABLE "sessions" ALTER "browser_digest" SET STATISTICS 0;
