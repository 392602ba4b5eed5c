CREATE TABLE "audit_outbox" (
	"application_id" uuid NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"id" uuid NOT NULL,
	"actor_type" text NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"resource" text NOT NULL,
	"ip_address" text NOT NULL,
	"request_id" text NOT NULL,
	CONSTRAINT "audit_outbox_id_application_id_pk" PRIMARY KEY("id","application_id")
);
--> statement-breakpoint
CREATE INDEX "audit_outbox_late_idx" ON "audit_outbox" USING btree ("occurred_at","id");--> statement-breakpoint
ALTER TABLE "audit_outbox" ALTER "ip_address" SET STATISTICS 0;
