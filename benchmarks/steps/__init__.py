"""The private training step beside the ordinary one: seconds and memory."""
