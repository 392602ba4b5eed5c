ALTER TABLE "login_codes" DROP CONSTRAINT "login_codes_user_id_users_id_fk";
--> statement-breakpoint
DROP INDEX "login_codes_user_id_idx";