"""The loops over stages: prepare, observe, ingest, summarise, report; one module for each start."""
