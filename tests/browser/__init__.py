"""The admin in a real browser: Debian's Chromium, steered by Playwright; make browser runs these."""
