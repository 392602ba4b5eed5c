ALTER TABLE "login_intents" ADD COLUMN "assurance" smallint;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "passkey_id" uuid;--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "vouched_user_id" uuid;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "wallet_linked_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "passkey_removed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "passkeys" ADD COLUMN "counts_from" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "passkeys" ADD COLUMN "counts_for_operators_from" timestamp (3) with time zone;