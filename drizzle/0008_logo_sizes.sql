ALTER TABLE "applications" ADD COLUMN "logo_size" smallint[];--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "dark_logo_size" smallint[];