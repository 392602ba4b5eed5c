CREATE TABLE "audit_events" (
	"application_id" uuid NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"id" uuid NOT NULL,
	"actor_type" text NOT NULL,
	"actor" text NOT NULL,
	"action" text NOT NULL,
	"resource" text NOT NULL,
	"ip_address" text NOT NULL,
	"request_id" text NOT NULL,
	CONSTRAINT "audit_events_application_id_occurred_at_id_pk" PRIMARY KEY("application_id","occurred_at","id")
);
--> statement-breakpoint
CREATE INDEX "audit_events_list_idx" ON "audit_events" USING btree ("occurred_at","id");