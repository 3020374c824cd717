"""One folder for each area of causes, one module for each rule."""
