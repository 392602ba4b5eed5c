ALTER TABLE "audit_events" ADD COLUMN "method" text;--> statement-breakpoint
ALTER TABLE "audit_events" ADD COLUMN "user_agent" text;--> statement-breakpoint
ALTER TABLE "audit_events" ADD COLUMN "network" text;--> statement-breakpoint
ALTER TABLE "audit_events" ADD COLUMN "attempts" integer;