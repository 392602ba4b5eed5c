CREATE TABLE "login_codes" (
	"application_id" uuid NOT NULL,
	"login_intent_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"user_id" uuid,
	"browser_digest" "bytea" NOT NULL,
	"code_digest" "bytea" NOT NULL,
	"attempts" smallint DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "login_codes_application_id_login_intent_id_id_pk" PRIMARY KEY("application_id","login_intent_id","id")
);
--> statement-breakpoint
CREATE TABLE "rate_limits" (
	"key" "bytea" PRIMARY KEY NOT NULL,
	"instants" timestamp (3) with time zone[] NOT NULL,
	"last_id" uuid NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "wallet_challenges" (
	"application_id" uuid NOT NULL,
	"login_intent_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"browser_digest" "bytea" NOT NULL,
	"address" text NOT NULL,
	"message" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "wallet_challenges_application_id_login_intent_id_id_pk" PRIMARY KEY("application_id","login_intent_id","id")
);
--> statement-breakpoint
ALTER TABLE "login_intents" ADD COLUMN "browser_digest" "bytea";--> statement-breakpoint
ALTER TABLE "login_codes" ADD CONSTRAINT "login_codes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "login_codes" ADD CONSTRAINT "login_codes_login_intent_fk" FOREIGN KEY ("application_id","login_intent_id") REFERENCES "public"."login_intents"("application_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "wallet_challenges" ADD CONSTRAINT "wallet_challenges_login_intent_fk" FOREIGN KEY ("application_id","login_intent_id") REFERENCES "public"."login_intents"("application_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "login_codes_user_id_idx" ON "login_codes" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "login_codes_expires_at_idx" ON "login_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "rate_limits_expires_at_idx" ON "rate_limits" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "wallet_challenges_expires_at_idx" ON "wallet_challenges" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "users_wallet_address_idx" ON "users" USING btree (lower("wallet_address"));