ALTER TABLE "login_codes" ADD COLUMN "wallet_address" text;--> statement-breakpoint
ALTER TABLE "wallet_challenges" ADD COLUMN "is_proved" boolean DEFAULT false NOT NULL;