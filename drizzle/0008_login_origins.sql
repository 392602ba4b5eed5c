CREATE TABLE "known_origins" (
	"key" "bytea" PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "rate_limits" ALTER COLUMN "instants" SET DEFAULT '{}';--> statement-breakpoint
ALTER TABLE "rate_limits" ALTER COLUMN "last_id" SET DEFAULT '00000000-0000-0000-0000-000000000000';--> statement-breakpoint
ALTER TABLE "login_codes" ADD COLUMN "email" text;--> statement-breakpoint
ALTER TABLE "login_codes" ADD COLUMN "sends" smallint DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "login_codes" ADD COLUMN "is_redeemed" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "rate_limits" ADD COLUMN "empty_ms" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "known_origins_expires_at_idx" ON "known_origins" USING btree ("expires_at");