ALTER TABLE "applications" ADD COLUMN "allow_sign_up" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "applications" ADD COLUMN "ask_name" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "applications_list_idx" ON "applications" USING btree ("created_at","id") WHERE "applications"."deleted_at" is null;