CREATE TABLE "recovery_links" (
	"id" uuid PRIMARY KEY NOT NULL,
	"user_id" uuid NOT NULL,
	"digest" "bytea" NOT NULL,
	"code_hmac" "bytea" NOT NULL,
	"address_key" "bytea" NOT NULL,
	"removes" text[] NOT NULL,
	"created_by" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"usable_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"attempts" smallint DEFAULT 0 NOT NULL,
	"status" text DEFAULT 'OPEN' NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "audit_events" ADD COLUMN "note" text;--> statement-breakpoint
CREATE UNIQUE INDEX "recovery_links_digest_key" ON "recovery_links" USING btree ("digest");--> statement-breakpoint
CREATE UNIQUE INDEX "recovery_links_open_key" ON "recovery_links" USING btree ("user_id") WHERE "recovery_links"."status" = 'OPEN';--> statement-breakpoint
CREATE INDEX "recovery_links_list_idx" ON "recovery_links" USING btree ("user_id","created_at","id");--> statement-breakpoint
CREATE INDEX "recovery_links_expires_at_idx" ON "recovery_links" USING btree ("expires_at");--> statement-breakpoint
-- Postgres would keep samples of personal data in its statistics, and no statement needs them.
ALTER TABLE "recovery_links" ALTER "created_by" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "audit_events" ALTER "note" SET STATISTICS 0;
