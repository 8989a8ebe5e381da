"""An HTTP proxy that runs in front of an object store and injects random faults, drawn from a seed.

Faults: 500, 429, and 409 without forwarding the request; no answer after forwarding it; a truncated answer; a truncated
request; an outdated list. On exit it prints how often each fault occurred.
"""

import argparse
import collections
import http.client
import http.server
import json
import random
import signal
import socketserver
import sys
import threading

KINDS = ["500", "429", "409", "lost", "cut", "half", "stale"]


class Faults:
    """Decides which requests fail, and how."""

    def __init__(self, share, seed):
        self.share = share
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.done = collections.Counter()
        self.lists = {}

    def choose(self, method, path, headers):
        """Returns the fault of a request, or None."""
        with self.lock:
            self.done["requests"] += 1
            # requests that create an object matter most but are the rarest, so they fail more often
            is_create = method == "PUT" and "If-None-Match" in headers
            if self.random.random() >= self.share * (5 if is_create else 1):
                return None
            kinds = ["500", "429", "lost"]
            if method == "GET":
                kinds.append("cut")
                if "list-type" in path and path in self.lists:
                    kinds += ["stale"] * 3
            if method == "PUT":
                kinds.append("half")
                if is_create:
                    kinds += ["409", "lost"] * 2
            kind = self.random.choice(kinds)
            self.done[kind] += 1
            return kind


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faults = None
    upstream = None

    def log_message(self, *_):
        pass

    def answer(self, status, headers, body, cut=False):
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        length = dict((name.lower(), value) for name, value in headers).get("content-length")
        self.send_header("Content-Length", str(len(body)) if self.command != "HEAD" else length or "0")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.drop()

    def drop(self):
        self.close_connection = True
        self.connection.close()

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.faults.choose(self.command, self.path, self.headers)
        if fault in ("500", "429", "409"):
            return self.answer(int(fault), [("Content-Type", "application/xml")], b"<Error><Code>Chosen</Code></Error>")
        if fault == "half":
            return self.drop()
        if fault == "stale":
            return self.answer(*self.faults.lists[self.path])
        try:
            connection = http.client.HTTPConnection(*self.upstream, timeout=60)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            found = (answer.status, answer.getheaders(), answer.read())
            connection.close()
        except OSError:
            return self.drop()
        if fault == "lost":
            return self.drop()
        if "list-type" in self.path and found[0] == 200:
            with self.faults.lock:
                self.faults.lists[self.path] = found
        self.answer(*found, cut=fault == "cut")

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = handle_any

    def handle(self):
        try:
            super().handle()
        except (OSError, ValueError):
            pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("upstream", help="HOST:PORT of the store")
    parser.add_argument("--share", type=float, default=0.03, help="share of requests that fail")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    host, port = args.upstream.rsplit(":", 1)
    Handler.faults, Handler.upstream = Faults(args.share, args.seed), (host, int(port))
    server = Server(("127.0.0.1", args.port), Handler)

    def end(*_):
        print(json.dumps(Handler.faults.done), flush=True)
        threading.Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, end)
    server.serve_forever()
    sys.exit(0)


if __name__ == "__main__":
    main()
