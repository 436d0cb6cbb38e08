"""Images: how good synthetic pictures are, measured as the paper measures them and as others do."""
