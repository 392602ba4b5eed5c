CREATE TABLE "held_sign_ins" (
	"application_id" uuid NOT NULL,
	"login_intent_id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"method" text NOT NULL,
	"passkey_id" uuid,
	"browser_digest" "bytea" NOT NULL,
	"authenticated_at" timestamp (3) with time zone,
	"proved_at" timestamp (3) with time zone NOT NULL,
	"email_changed_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "held_sign_ins_application_id_login_intent_id_pk" PRIMARY KEY("application_id","login_intent_id")
);
--> statement-breakpoint
CREATE TABLE "recovery_codes" (
	"user_id" uuid NOT NULL,
	"digest" "bytea" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "recovery_codes_user_id_digest_pk" PRIMARY KEY("user_id","digest")
);
--> statement-breakpoint
CREATE TABLE "totp_secrets" (
	"user_id" uuid PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"sealed" "bytea" NOT NULL,
	"last_step" bigint NOT NULL,
	"counts_from" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "has_second_factor" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "held_sign_ins_user_id_idx" ON "held_sign_ins" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "held_sign_ins_expires_at_idx" ON "held_sign_ins" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "totp_secrets_key_id_idx" ON "totp_secrets" USING btree (substr("sealed", 1, 4));--> statement-breakpoint
-- Postgres would keep samples of these in its statistics, and no statement needs them.
ALTER TABLE "totp_secrets" ALTER "sealed" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "recovery_codes" ALTER "digest" SET STATISTICS 0;--> statement-breakpoint
ALTER TABLE "held_sign_ins" ALTER "browser_digest" SET STATISTICS 0;
