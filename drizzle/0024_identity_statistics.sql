-- The planner's statistics are samples of values: an erasure would leave accounts and addresses in them.
ALTER TABLE "user_identities" ALTER "issuer" SET STATISTICS 0, ALTER "subject" SET STATISTICS 0, ALTER "provider" SET STATISTICS 0;
--> statement-breakpoint
ALTER TABLE "proved_identities" ALTER "issuer" SET STATISTICS 0, ALTER "subject" SET STATISTICS 0, ALTER "provider" SET STATISTICS 0, ALTER "email" SET STATISTICS 0;
