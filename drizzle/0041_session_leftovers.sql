DROP INDEX "session_ids_expires_at_idx";--> statement-breakpoint
ALTER TABLE "session_ids" ALTER COLUMN "kept_until" DROP DEFAULT;