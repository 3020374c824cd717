"""Every loop over stages: run, measure, ingest, analyse, report."""
