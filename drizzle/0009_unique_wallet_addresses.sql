CREATE TABLE "shared_wallet_addresses" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"wallet_address" text NOT NULL
);
--> statement-breakpoint
-- An address that several live users have identifies none of them, so none of them keeps it.
LOCK TABLE "users" IN SHARE ROW EXCLUSIVE MODE;--> statement-breakpoint
INSERT INTO "shared_wallet_addresses" ("user_id", "wallet_address")
SELECT "id", "wallet_address" FROM (
	SELECT "id", "wallet_address", count(*) OVER (PARTITION BY lower("wallet_address")) AS "owners"
	FROM "users" WHERE "deleted_at" IS NULL AND "wallet_address" <> ''
) AS "owned" WHERE "owners" > 1;--> statement-breakpoint
UPDATE "users" SET "wallet_address" = '' WHERE "id" IN (SELECT "user_id" FROM "shared_wallet_addresses");--> statement-breakpoint
CREATE UNIQUE INDEX "users_wallet_address_key" ON "users" USING btree (lower("wallet_address")) WHERE "users"."deleted_at" is null and "users"."wallet_address" <> '';