"""Sends requests that are wrong in random ways over sockets: random_bytes.py URL N

Random bytes; good requests with bytes changed, cut off, repeated or put in; lies about lengths; odd JSON. Fails if the server
answers with a status of 500 or above other than 503, or does not take connections any more.
"""

import errno
import random
import socket
import sys
from urllib.parse import urlsplit

PATHS = ["/v1/annotate", "/v1/dialogue", "/v1/concepts", "/v1/concepts/1", "/v1/concepts/undo", "/v1/concepts/export?as=corpus",
         "/v1/model", "/model/parse", "/healthz", "/metrics", "/openapi.json", "/", "/page/app.js", "/v1/concepts?query=%00&limit=5"]
METHODS = ["GET", "POST", "PATCH", "DELETE", "HEAD", "PUT", "OPTIONS", "CONNECT", "TRACE", "\x00"]
BODIES = ['{"text": "play zorblax road"}', '{"texts": ["play", ""], "syntax": true}', '{"session": "s", "text": "an album"}',
          '{"phrase": "zorblax road", "slot": "album"}', '{"value": null}', "[" * 5000, '{"text": "\\ud800"}', '{"text": "\\u0000"}',
          '{"text": 1e999}', "\ufeff{}", '{"text": "' + "a" * 5000 + '"}', '{"text": "a", "text": "b"}', "null", '"', "-"]


def request(rng, host):
    body = rng.choice(BODIES).encode("utf-8", "surrogatepass")
    if rng.random() < 0.3:
        body = mangled(rng, body)
    length = rng.choice([len(body)] * 6 + [0, len(body) + 1, max(0, len(body) - 1), -1, 1 << 40, "x"])
    headers = [f"Host: {host}", f"Content-Length: {length}",
               f"Content-Type: {rng.choice(['application/json'] * 4 + ['text/plain', '', 'application/json; charset=latin1'])}"]
    if rng.random() < 0.2:
        headers.append(rng.choice(["Transfer-Encoding: chunked", "Expect: 100-continue", "Connection: upgrade\r\nUpgrade: h2c",
                                   "Origin: http://evil.example", "Authorization: Bearer \x80", "X: " + "y" * 70000, "X" * 100 + ": 1"]))
    rng.shuffle(headers)
    line = f"{rng.choice(METHODS[:4] * 4 + METHODS)} {rng.choice(PATHS)} HTTP/1.{rng.choice('11110')}"
    head = "\r\n".join([line, *headers]).encode("latin-1")
    whole = head + b"\r\n\r\n" + body
    return mangled(rng, whole) if rng.random() < 0.3 else whole


def mangled(rng, data):
    data = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(4):
            case 0:
                del data[at:]
            case 1:
                data[at:at] = rng.randbytes(rng.randint(1, 9))
            case 2:
                data[at:at + 1] = rng.randbytes(1)
            case 3:
                data[at:at] = data[at:at + 20]
    return bytes(data)


def main():
    host = urlsplit(sys.argv[1]).netloc
    name, port = host.rsplit(":", 1)
    statuses = {}
    for seed in range(int(sys.argv[2])):
        rng = random.Random(seed)
        data = rng.randbytes(rng.randint(0, 300)) if rng.random() < 0.2 else request(rng, host)
        with socket.create_connection((name, int(port)), timeout=10) as connection:
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(65536)
            except OSError as error:
                # The server may close the connection before all is sent; it may not be silent.
                if not isinstance(error, ConnectionError) and error.errno != errno.ENOTCONN:
                    raise
                answer = b""
        status = answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.") else "none"
        statuses[status] = statuses.get(status, 0) + 1
        if status.startswith("5") and status != "503":
            sys.exit(f"seed {seed}: {answer[:500]!r} to {data[:500]!r}")
    print(", ".join(f"{status}: {n}" for status, n in sorted(statuses.items())), file=sys.stderr)


if __name__ == "__main__":
    main()
