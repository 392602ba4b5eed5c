-- The planner's statistics are samples of values: an erasure would leave addresses in them.
DO $$
DECLARE
  statement text;
BEGIN
  FOREACH statement IN ARRAY ARRAY[
    'ALTER TABLE "users" ALTER COLUMN "email" SET STATISTICS 0, ALTER COLUMN "name" SET STATISTICS 0, ALTER COLUMN "profile_image" SET STATISTICS 0, ALTER COLUMN "wallet_address" SET STATISTICS 0',
    'ALTER TABLE "sessions" ALTER COLUMN "email" SET STATISTICS 0, ALTER COLUMN "name" SET STATISTICS 0, ALTER COLUMN "profile_image" SET STATISTICS 0, ALTER COLUMN "wallet_address" SET STATISTICS 0, ALTER COLUMN "ip_address" SET STATISTICS 0, ALTER COLUMN "user_agent" SET STATISTICS 0',
    'ALTER TABLE "login_codes" ALTER COLUMN "email" SET STATISTICS 0, ALTER COLUMN "wallet_address" SET STATISTICS 0',
    'ALTER TABLE "wallet_challenges" ALTER COLUMN "address" SET STATISTICS 0, ALTER COLUMN "message" SET STATISTICS 0',
    'ALTER TABLE "shared_wallet_addresses" ALTER COLUMN "wallet_address" SET STATISTICS 0',
    'ALTER TABLE "webhook_messages" ALTER COLUMN "payload" SET STATISTICS 0',
    'ALTER TABLE "webhook_attempts" ALTER COLUMN "response_body" SET STATISTICS 0',
    'ALTER TABLE "audit_events" ALTER COLUMN "ip_address" SET STATISTICS 0',
    'ALTER INDEX "users_email_key" ALTER COLUMN 1 SET STATISTICS 0',
    'ALTER INDEX "users_wallet_address_key" ALTER COLUMN 1 SET STATISTICS 0',
    'ALTER INDEX "users_wallet_address_idx" ALTER COLUMN 1 SET STATISTICS 0',
    'ALTER INDEX "login_codes_email_idx" ALTER COLUMN 1 SET STATISTICS 0'
  ] LOOP
    EXECUTE statement;
  END LOOP;
  -- ANALYZE keeps the statistics that are there. Before Postgres 18 only a superuser can remove them.
  IF current_setting('server_version_num')::int >= 180000 THEN
    PERFORM pg_clear_attribute_stats(current_schema(), class.relname::text, attribute.attname::text, false)
    FROM pg_class class INNER JOIN pg_attribute attribute ON attribute.attrelid = class.oid
    WHERE class.relnamespace = current_schema()::regnamespace AND attribute.attstattarget = 0 AND attribute.attnum > 0;
  ELSIF current_setting('is_superuser') = 'on' THEN
    DELETE FROM pg_statistic USING pg_class class, pg_attribute attribute
    WHERE class.oid = starelid AND attribute.attrelid = starelid AND attribute.attnum = staattnum
      AND class.relnamespace = current_schema()::regnamespace AND attribute.attstattarget = 0;
  END IF;
EXCEPTION WHEN feature_not_supported THEN
  -- Citus sets them for tables that are distributed afterwards. See the README of src/database.
  NULL;
END $$;
