"""The service: what answers, orders, uploads and recovery cost on a real server."""
