CREATE TABLE "application_logos" (
	"application_id" uuid NOT NULL,
	"theme" text NOT NULL,
	"digest" "bytea" NOT NULL,
	"media_type" text NOT NULL,
	"width" smallint NOT NULL,
	"height" smallint NOT NULL,
	"image" "bytea" NOT NULL,
	CONSTRAINT "application_logos_application_id_theme_pk" PRIMARY KEY("application_id","theme")
);
--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "accent_color" text;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "terms_uri" text;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "privacy_uri" text;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "support_uri" text;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "initiate_login_uri" text;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "login_methods" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "single_sign_on" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "logo_digest" "bytea";--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "dark_logo_digest" "bytea";--> statement-breakpoint
ALTER TABLE "application_logos" ADD CONSTRAINT "application_logos_application_id_applications_id_fk" FOREIGN KEY ("application_id") REFERENCES "public"."applications"("id") ON DELETE no action ON UPDATE no action;