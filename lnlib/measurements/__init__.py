"""What chapters measure but do not teach, a package a topic; section 6 is in `lnlib.experiments`."""
