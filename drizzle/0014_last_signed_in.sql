ALTER TABLE "application_users" ADD COLUMN "last_signed_in_at" timestamp (3) with time zone;--> statement-breakpoint
-- The update of a day stays on its page (HOT) if there is room.
ALTER TABLE "application_users" SET (fillfactor = 90);
