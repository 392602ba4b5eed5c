CREATE TABLE "feed_positions" (
	"application_id" uuid NOT NULL,
	"position" bigint NOT NULL,
	"message_id" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "feed_positions_application_id_position_pk" PRIMARY KEY("application_id","position")
);
--> statement-breakpoint
CREATE TABLE "message_feeds" (
	"application_id" uuid PRIMARY KEY NOT NULL,
	"epoch" uuid NOT NULL,
	"next_position" bigint NOT NULL,
	"is_active" boolean NOT NULL
);
--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "message_feed" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "feed_positions_created_at_idx" ON "feed_positions" USING btree ("created_at");