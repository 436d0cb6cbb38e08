"""The service's facts in plain language: labels, certificates and domains for pages and documents."""
