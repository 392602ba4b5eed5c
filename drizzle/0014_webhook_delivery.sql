CREATE TABLE "webhook_attempts" (
	"application_id" uuid NOT NULL,
	"webhook_id" text NOT NULL,
	"message_id" bigint NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "webhook_attempts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"attempted_at" timestamp (3) with time zone NOT NULL,
	"duration_ms" integer NOT NULL,
	"status_code" smallint,
	"error" text,
	"response_body" text,
	CONSTRAINT "webhook_attempts_application_id_webhook_id_message_id_id_pk" PRIMARY KEY("application_id","webhook_id","message_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"application_id" uuid NOT NULL,
	"webhook_id" text NOT NULL,
	"message_id" bigint NOT NULL,
	"status" text DEFAULT 'pending' NOT NULL,
	"due_at" timestamp (3) with time zone,
	"attempt_count" integer DEFAULT 0 NOT NULL,
	"schedule_index" smallint DEFAULT 0 NOT NULL,
	"is_manual" boolean DEFAULT false NOT NULL,
	"last_status_code" smallint,
	"last_error" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhook_deliveries_application_id_webhook_id_message_id_pk" PRIMARY KEY("application_id","webhook_id","message_id")
);
--> statement-breakpoint
CREATE TABLE "webhook_messages" (
	"application_id" uuid NOT NULL,
	"id" bigint GENERATED ALWAYS AS IDENTITY (sequence name "webhook_messages_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"type" text NOT NULL,
	"payload" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"fanned_out_to" text DEFAULT '',
	CONSTRAINT "webhook_messages_application_id_id_pk" PRIMARY KEY("application_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhook_queues" (
	"application_id" uuid NOT NULL,
	"webhook_id" text NOT NULL,
	"next_at" timestamp (3) with time zone,
	"lease" uuid,
	"wake_count" bigint DEFAULT 0 NOT NULL,
	"batch_size" smallint DEFAULT 1 NOT NULL,
	"failed_batches" integer DEFAULT 0 NOT NULL,
	"failing_since" timestamp (3) with time zone,
	"redeliver_since" timestamp (3) with time zone,
	"redeliver_until" timestamp (3) with time zone,
	CONSTRAINT "webhook_queues_application_id_webhook_id_pk" PRIMARY KEY("application_id","webhook_id")
);
--> statement-breakpoint
CREATE TABLE "webhook_signing_keys" (
	"application_id" uuid NOT NULL,
	"webhook_id" text NOT NULL,
	"id" uuid NOT NULL,
	"signing_key" "bytea" NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "webhook_signing_keys_application_id_webhook_id_id_pk" PRIMARY KEY("application_id","webhook_id","id")
);
--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "disabled_reason" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "description" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "event_types" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "ordered" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "webhook_attempts_attempted_at_idx" ON "webhook_attempts" USING btree ("attempted_at");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_due_idx" ON "webhook_deliveries" USING btree ("application_id","webhook_id","due_at","message_id") WHERE "webhook_deliveries"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_order_idx" ON "webhook_deliveries" USING btree ("application_id","webhook_id","message_id") WHERE "webhook_deliveries"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "webhook_deliveries_list_idx" ON "webhook_deliveries" USING btree ("application_id","webhook_id","status","created_at","message_id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_created_at_idx" ON "webhook_deliveries" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "webhook_messages_fan_out_idx" ON "webhook_messages" USING btree ("application_id","id") WHERE "webhook_messages"."fanned_out_to" is not null;--> statement-breakpoint
CREATE INDEX "webhook_messages_created_at_idx" ON "webhook_messages" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "webhook_queues_healthy_idx" ON "webhook_queues" USING btree ("next_at") WHERE "webhook_queues"."next_at" is not null and "webhook_queues"."failed_batches" = 0;--> statement-breakpoint
CREATE INDEX "webhook_queues_failing_idx" ON "webhook_queues" USING btree ("next_at") WHERE "webhook_queues"."next_at" is not null and "webhook_queues"."failed_batches" > 0;--> statement-breakpoint
CREATE INDEX "webhook_signing_keys_encryption_key_idx" ON "webhook_signing_keys" USING btree (substr("signing_key", 1, 4));--> statement-breakpoint
CREATE INDEX "webhook_signing_keys_expires_at_idx" ON "webhook_signing_keys" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "webhooks_list_idx" ON "webhooks" USING btree ("application_id","created_at","id");--> statement-breakpoint
CREATE INDEX "webhooks_subscribed_idx" ON "webhooks" USING btree ("application_id","id") WHERE "webhooks"."is_active" and "webhooks"."event_types" <> '{}';