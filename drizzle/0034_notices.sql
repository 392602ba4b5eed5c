CREATE TABLE "notices" (
	"application_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"kind" text NOT NULL,
	"user_id" uuid NOT NULL,
	"recipient" text NOT NULL,
	"value" text NOT NULL,
	"language" text NOT NULL,
	"changed_at" timestamp (3) with time zone NOT NULL,
	"attempts" smallint DEFAULT 0 NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "notices_application_id_id_kind_pk" PRIMARY KEY("application_id","id","kind")
);
--> statement-breakpoint
CREATE INDEX "notices_due_at_idx" ON "notices" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "notices_expires_at_idx" ON "notices" USING btree ("expires_at");--> statement-breakpoint
-- The planner's statistics are samples of values: an erasure would leave addresses in them.
ALTER TABLE "notices" ALTER "recipient" SET STATISTICS 0, ALTER "value" SET STATISTICS 0;
