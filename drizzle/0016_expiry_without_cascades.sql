ALTER TABLE "login_codes" DROP CONSTRAINT "login_codes_login_intent_fk";
--> statement-breakpoint
ALTER TABLE "wallet_challenges" DROP CONSTRAINT "wallet_challenges_login_intent_fk";
