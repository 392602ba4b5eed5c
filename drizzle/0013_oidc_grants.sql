CREATE TABLE "oidc_grants" (
	"application_id" uuid NOT NULL,
	"id" uuid NOT NULL,
	"user_id" uuid NOT NULL,
	"sid" uuid NOT NULL,
	"scope" smallint NOT NULL,
	"method" text NOT NULL,
	"ip_address" text NOT NULL,
	"user_agent" text NOT NULL,
	"authenticated_at" timestamp (3) with time zone NOT NULL,
	"rotation" integer NOT NULL,
	"rotated_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "oidc_grants_application_id_id_pk" PRIMARY KEY("application_id","id")
);
--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "public_client" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "oidc_grants_list_idx" ON "oidc_grants" USING btree ("application_id","created_at","id");--> statement-breakpoint
CREATE INDEX "oidc_grants_user_id_idx" ON "oidc_grants" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "oidc_grants_expires_at_idx" ON "oidc_grants" USING btree ("expires_at");--> statement-breakpoint
ALTER TABLE "oidc_grants" ALTER "ip_address" SET STATISTICS 0, ALTER "user_agent" SET STATISTICS 0;