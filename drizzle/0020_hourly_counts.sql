CREATE TABLE "expiry_marks" (
	"name" text PRIMARY KEY NOT NULL,
	"reached_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "hourly_counts" (
	"name" text NOT NULL,
	"hour" timestamp (3) with time zone NOT NULL,
	"count" bigint NOT NULL,
	CONSTRAINT "hourly_counts_hour_name_pk" PRIMARY KEY("hour","name")
);
