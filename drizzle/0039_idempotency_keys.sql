CREATE TABLE "idempotency_keys" (
	"application_id" uuid NOT NULL,
	"id" text NOT NULL,
	"answer" "bytea" NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_application_id_id_pk" PRIMARY KEY("application_id","id")
);
--> statement-breakpoint
CREATE INDEX "idempotency_keys_expires_at_idx" ON "idempotency_keys" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_encryption_key_idx" ON "idempotency_keys" USING btree (substr("answer", 1, 4));