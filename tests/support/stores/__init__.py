"""Object stores that answer as planned, or as S3 does."""
