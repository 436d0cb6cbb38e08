"""What a domain may declare or learn of its columns, and what each declaration is worth."""
