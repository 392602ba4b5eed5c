ALTER TABLE "applications" ADD COLUMN "attribute_claims" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "external_id" text;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "attributes" jsonb;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "attributes" jsonb;--> statement-breakpoint
-- The planner's statistics are samples of values: an erasure would leave personal data in them.
ALTER TABLE "users" ALTER "external_id" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "users" ALTER "attributes" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "sessions" ALTER "attributes" SET STATISTICS 0;
