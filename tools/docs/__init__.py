"""What builds the documentation: parts of pages that come from the code, the check of the site, and the pictures."""
