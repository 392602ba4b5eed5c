CREATE TABLE "passkeys" (
	"user_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"credential_id" "bytea" NOT NULL,
	"rp_id" text NOT NULL,
	"public_key" "bytea" NOT NULL,
	"sign_count" bigint NOT NULL,
	"transports" text[] NOT NULL,
	"aaguid" uuid NOT NULL,
	"is_backup_eligible" boolean NOT NULL,
	"is_backed_up" boolean NOT NULL,
	"is_user_verified" boolean NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	CONSTRAINT "passkeys_credential_id_pk" PRIMARY KEY("credential_id")
);
--> statement-breakpoint
CREATE INDEX "passkeys_user_id_idx" ON "passkeys" USING btree ("user_id","id");
--> statement-breakpoint
-- The planner's statistics are samples of values: an erasure would leave passkeys in them.
ALTER TABLE "passkeys" ALTER "credential_id" SET STATISTICS 0, ALTER "public_key" SET STATISTICS 0, ALTER "name" SET STATISTICS 0;
