CREATE TABLE "attendees" (
	"application_id" uuid NOT NULL,
	"event_id" text NOT NULL,
	"attendee_id" text NOT NULL,
	"label" text NOT NULL,
	"is_blocked" boolean NOT NULL,
	"version" bigint NOT NULL,
	"changed_at" timestamp (3) with time zone NOT NULL,
	"is_deleted" boolean DEFAULT false NOT NULL,
	"removed_at" timestamp (3) with time zone,
	CONSTRAINT "attendees_application_id_event_id_attendee_id_pk" PRIMARY KEY("application_id","event_id","attendee_id")
);
--> statement-breakpoint
CREATE TABLE "scans" (
	"application_id" uuid NOT NULL,
	"event_id" text NOT NULL,
	"scan_id" uuid NOT NULL,
	"attendee_id" text NOT NULL,
	"outcome" text NOT NULL,
	"reason" text,
	"gate" text,
	"occurred_at" timestamp (3) with time zone,
	"received_at" timestamp (3) with time zone NOT NULL,
	"check_in" json,
	CONSTRAINT "scans_application_id_event_id_scan_id_pk" PRIMARY KEY("application_id","event_id","scan_id")
);
--> statement-breakpoint
ALTER TABLE "check_ins" ADD COLUMN "occurred_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "check_ins" ADD COLUMN "gate" text;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "starts_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "ends_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "capacity" integer;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "admission" text;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "checked_in" integer;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "attendee_version" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "attendees" ADD CONSTRAINT "attendees_application_id_event_id_events_application_id_id_fk" FOREIGN KEY ("application_id","event_id") REFERENCES "public"."events"("application_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "attendees_version_idx" ON "attendees" USING btree ("application_id","event_id","version");--> statement-breakpoint
CREATE INDEX "attendees_removed_idx" ON "attendees" USING btree ("removed_at") WHERE "attendees"."removed_at" is not null;--> statement-breakpoint
CREATE INDEX "scans_received_idx" ON "scans" USING btree ("received_at");--> statement-breakpoint
ALTER TABLE "attendees" ALTER "label" SET STATISTICS 0;