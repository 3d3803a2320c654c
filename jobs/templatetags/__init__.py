"""For the templates of the admin."""
