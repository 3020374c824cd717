"""What rules look at in scans: filters, text formats, and stores that are not local."""
