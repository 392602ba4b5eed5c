DROP INDEX "webhook_queues_healthy_idx";--> statement-breakpoint
ALTER TABLE "webhook_queues" ADD COLUMN "is_quick" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "webhook_queues_working_idx" ON "webhook_queues" USING btree ("is_quick","next_at") WHERE "webhook_queues"."next_at" is not null and "webhook_queues"."failed_batches" = 0;