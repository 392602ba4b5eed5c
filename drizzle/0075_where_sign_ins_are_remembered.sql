ALTER TABLE "remembered_sign_ins" ADD COLUMN "ip_address" text;--> statement-breakpoint
ALTER TABLE "remembered_sign_ins" ADD COLUMN "user_agent" text;--> statement-breakpoint
-- Postgres would keep samples of personal data in its statistics, and no statement needs them.
ALTER TABLE "remembered_sign_ins" ALTER "ip_address" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "remembered_sign_ins" ALTER "user_agent" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "audit_events" ALTER "method" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "audit_events" ALTER "user_agent" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "audit_events" ALTER "network" SET STATISTICS 0;
