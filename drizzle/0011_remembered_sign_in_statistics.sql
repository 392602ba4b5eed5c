-- The planner's statistics are samples of values: an erasure would leave digests of remembered sign-ins in them.
ALTER TABLE "remembered_sign_ins" ALTER "token_digest" SET STATISTICS 0;
