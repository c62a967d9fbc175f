"""The pages of a browser, and the file of a day."""
