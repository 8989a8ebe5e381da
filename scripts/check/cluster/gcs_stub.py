"""A stand-in for Google's object store on the loopback interface: the XML API requests that a run in a bucket makes.

    python scripts/check/cluster/gcs_stub.py PORT FILE

Supports lists (`list-type=2`), GET, HEAD, PUT with `x-goog-if-generation-match`, copies, and DELETE, in a single bucket,
`runs`. All data is in a database at FILE, so a server that is killed and restarted keeps everything it acknowledged. A
list returns only a few entries per request, so that lists in several parts are tested, too. The stand-in implements
Google's documentation, which does not prove that Google's store behaves the same way.
"""

import datetime
import email.utils
import http.server
import re
import sqlite3
import sys
import threading
import time
import urllib.parse
from xml.sax.saxutils import escape

BUCKET = "runs"
ENTRIES_OF_A_LIST = 50
LOCK = threading.Lock()


class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=(), length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code, message):
        text = f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>{message}</Message></Error>"
        self.answer(status, b"" if self.command == "HEAD" else text.encode(), [("Content-Type", "application/xml")])

    def about(self, generation, modified):
        return [("ETag", f'"{generation}"'), ("x-goog-generation", str(generation)),
                ("Last-Modified", email.utils.formatdate(modified, usegmt=True))]

    def handle_request(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        bucket, _, name = url.path.lstrip("/").partition("/")
        name = urllib.parse.unquote(name)
        if urllib.parse.unquote(bucket) != BUCKET:
            return self.refuse(404, "NoSuchBucket", "The specified bucket does not exist.")
        with LOCK, sqlite3.connect(sys.argv[2]) as database:
            if not name:
                return self.list(database, query)
            there = database.execute("SELECT generation, body, modified FROM objects WHERE name = ?", (name,)).fetchone()
            if self.command == "PUT":
                return self.put(database, name, body, there)
            if there is None:
                return self.refuse(404, "NoSuchKey", "The specified key does not exist.")
            if self.command == "DELETE":
                database.execute("DELETE FROM objects WHERE name = ?", (name,))
                database.commit()
                return self.answer(204)
            if query.get("generation", str(there[0])) != str(there[0]):
                return self.refuse(404, "NoSuchKey", "No such generation.")
        generation, body, modified = there
        status, headers = 200, self.about(generation, modified)
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if part and self.command == "GET":
            first, last = int(part[1]), min(int(part[2] or len(body) - 1), len(body) - 1)
            headers.append(("Content-Range", f"bytes {first}-{last}/{len(body)}"))
            status, body = 206, body[first:last + 1]
        self.answer(status, b"" if self.command == "HEAD" else body, headers, len(body))

    do_GET = do_HEAD = do_PUT = do_DELETE = handle_request

    def put(self, database, name, body, there):
        expected = self.headers.get("x-goog-if-generation-match")
        if expected is not None and int(expected) != (there[0] if there else 0):
            return self.refuse(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
        source = self.headers.get("x-goog-copy-source")
        if source is not None:
            source = urllib.parse.unquote(source).lstrip("/").removeprefix(f"{BUCKET}/")
            found = database.execute("SELECT body FROM objects WHERE name = ?", (source,)).fetchone()
            if found is None:
                return self.refuse(404, "NoSuchKey", "The specified key does not exist.")
            body = found[0]
        # a generation is never reused, even after deletion
        generation, modified = time.time_ns() // 1000, time.time()
        database.execute("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)", (name, generation, body, modified))
        database.commit()
        self.answer(200, headers=self.about(generation, modified))

    def list(self, database, query):
        if self.command != "GET" or query.get("list-type") != "2":
            return self.refuse(501, "NotImplemented", "Only lists of version 2 are supported.")
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        after = query.get("continuation-token") or query.get("start-after") or ""
        most = min(int(query.get("max-keys", ENTRIES_OF_A_LIST)), ENTRIES_OF_A_LIST)
        entries, last, more = [], None, False
        rows = database.execute("SELECT name, generation, length(body), modified FROM objects ORDER BY name")
        for name, generation, length, modified in rows:
            if not name.startswith(prefix):
                continue
            rest = name[len(prefix):]
            is_folder = delimiter and delimiter in rest
            key = prefix + rest[:rest.index(delimiter) + 1] if is_folder else name
            if key <= after or key == last:
                continue
            if len(entries) == most:
                more = True
                break
            last = key
            when = datetime.datetime.fromtimestamp(modified, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            entries.append(
                f"<CommonPrefixes><Prefix>{escape(key)}</Prefix></CommonPrefixes>" if is_folder else
                f"<Contents><Key>{escape(key)}</Key><Size>{length}</Size><LastModified>{when}</LastModified>"
                f"<ETag>&quot;{generation}&quot;</ETag></Contents>")
        token = f"<NextContinuationToken>{escape(last)}</NextContinuationToken>" if more else ""
        text = f"<?xml version='1.0' encoding='UTF-8'?><ListBucketResult>{''.join(entries)}{token}</ListBucketResult>"
        self.answer(200, text.encode(), [("Content-Type", "application/xml")])


def main():
    with sqlite3.connect(sys.argv[2]) as database:
        database.execute("CREATE TABLE IF NOT EXISTS objects (name TEXT PRIMARY KEY, generation INTEGER, body BLOB, modified REAL)")
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Store).serve_forever()


if __name__ == "__main__":
    main()
