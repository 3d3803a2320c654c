"""``make screenshots``: the pages of the admin, light and dark, with a day of the shop on them."""
