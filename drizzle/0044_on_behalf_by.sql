ALTER TABLE "login_intents" ADD COLUMN "on_behalf_by" text;--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "on_behalf_by" text;--> statement-breakpoint
ALTER TABLE "oidc_grants" ADD COLUMN "on_behalf_by" text;--> statement-breakpoint
ALTER TABLE "audit_events" ADD COLUMN "on_behalf_by" text;--> statement-breakpoint
-- The planner's statistics are samples of values. These are names of people.
ALTER TABLE "login_intents" ALTER "on_behalf_by" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "sessions" ALTER "on_behalf_by" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "oidc_grants" ALTER "on_behalf_by" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "audit_events" ALTER "on_behalf_by" SET STATISTICS 0;
