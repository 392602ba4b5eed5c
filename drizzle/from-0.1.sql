-- Makes the tables of the last version 0.1 those of 0000_init.sql. See src/database/take-over.ts.

-- The views that 0.1 left in "public" and "drizzle" when it moved its tables from there.
DO $$
DECLARE
  former_view text;
BEGIN
  FOR former_view IN
    SELECT format('%I.%I', view_schema, view_name) FROM information_schema.view_table_usage
    WHERE table_schema = current_schema() AND view_name = table_name
  LOOP
    EXECUTE 'DROP VIEW ' || former_view;
  END LOOP;
END $$;--> statement-breakpoint

-- Rows of the first versions 0.1, which have expired or are of no use.
DELETE FROM "sessions" WHERE "method" = '';--> statement-breakpoint
DELETE FROM "login_codes" WHERE "email" IS NULL;--> statement-breakpoint
DELETE FROM "known_origins" WHERE "user_id" IS NULL;--> statement-breakpoint

-- Columns, defaults and tables for those versions.
DROP INDEX "sessions_without_id_idx";--> statement-breakpoint
ALTER TABLE "sessions" ALTER "method" DROP DEFAULT, ALTER "authenticated_at" DROP DEFAULT, ALTER "began_at" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "login_codes" ALTER "email" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "known_origins" ALTER "user_id" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "login_intents" ALTER "method" DROP DEFAULT, ALTER "method" DROP NOT NULL;--> statement-breakpoint
UPDATE "login_intents" SET "method" = NULL WHERE "method" = '';--> statement-breakpoint
ALTER TABLE "rate_limits" DROP "instants", DROP "last_id", ALTER "empty_ms" DROP DEFAULT;--> statement-breakpoint
DROP TABLE "shared_wallet_addresses";--> statement-breakpoint

-- A replica of 0.1 that starts later finds no journal, and refuses tables that it has not created.
DROP TABLE "__drizzle_migrations";
