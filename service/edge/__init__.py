"""The edge of the API: middleware and parsers between the socket and the endpoints.

In reading order, each part after those that it imports:

* `termination`: termination signals while responses are open.
* `proxies`: the client's address behind a trusted proxy.
* `request_records`: a log line and a span for each request.
* `request_counters`: counters for Prometheus.
* `audit_trail`: refused attempts in the audit log.
* `last_resort`: uncaught exceptions as constant responses.
* `security_headers`: headers that restrict a browser.
* `http_protocol`: HTTP/1.1 with deadlines.
* `head`: HEAD answered like GET.
* `concurrency`: refusals when too many requests of a kind run.
* `watching`: one reader of jobs for any number of event streams.
* `rate_limit`: a token bucket for each API key.
* `body_limit`: size and time limits of bodies.
* `body_stream`: a body as chunks for synchronous endpoints.
* `json_body`: a strict JSON parser.
* `streaming`: responses of any length.
"""
