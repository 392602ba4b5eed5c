-- The keys had no secret. Each sign-in adds new ones.
TRUNCATE "known_origins";--> statement-breakpoint
ALTER TABLE "known_origins" ADD COLUMN "user_id" uuid;--> statement-breakpoint
CREATE INDEX "known_origins_user_id_idx" ON "known_origins" USING btree ("user_id");