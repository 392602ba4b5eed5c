CREATE TABLE "declared_files" (
	"digest" text NOT NULL,
	"revision" integer,
	"applied_at" timestamp (3) with time zone NOT NULL,
	"id" smallint PRIMARY KEY DEFAULT 1 NOT NULL
);
--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "declared_by_file" boolean;--> statement-breakpoint
ALTER TABLE "api_keys" ADD COLUMN "declared_by_file" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "groups" ADD COLUMN "declared_by_file" boolean;