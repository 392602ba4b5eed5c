CREATE INDEX "users_list_idx" ON "users" USING btree ("created_at","id") WHERE "users"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "login_codes_email_idx" ON "login_codes" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "wallet_challenges_address_idx" ON "wallet_challenges" USING btree ("address");