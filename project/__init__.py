"""The demo site: what a site that uses ``jobs`` looks like."""
