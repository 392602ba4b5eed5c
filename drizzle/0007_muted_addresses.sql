CREATE TABLE "muted_addresses" (
	"key" "bytea" PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "login_codes" ADD COLUMN "is_unsent" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "muted_addresses_expires_at_idx" ON "muted_addresses" USING btree ("expires_at");