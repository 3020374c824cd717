"""Earlier tunings: kept by what their jobs do, found again by how alike another job is."""
