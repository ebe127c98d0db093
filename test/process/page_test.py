#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page_test.py TOCSIN [NAME...] - the page at /: its files, their headers, and a server without it.

tocsin_without_page beside TOCSIN is the same server, built without the page. What the page does is
tested in web/test (its parts) and test/browser (all of it).
"""
import gzip
import os
import re
import subprocess
import sys

from support import ROOT, TOCSIN, Server, alone, expect, holds, main, same, test

FILES = {"/": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8",
         "/app.css": "text/css; charset=utf-8", "/favicon.svg": "image/svg+xml"}
POLICY = {"default-src": "'self'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'",
          "connect-src": "'self'", "object-src": "'none'", "base-uri": "'none'", "form-action": "'none'",
          "frame-ancestors": "'none'"}
NAMESPACES = {"http://www.w3.org/2000/svg"}


def built_with_page():
    path = os.path.join(os.path.dirname(TOCSIN), "web/app.js")
    return not os.path.exists(path) or os.path.getsize(path) > 0


def with_page(function):
    """Where npm could not fetch its packages there is no page to test; this says so."""
    if built_with_page():
        return test(token="secret-token-of-the-test")(function)

    def left_out():
        print(f"{function.__name__}: not tested, the server was built without the page", flush=True)
    left_out.__name__ = function.__name__
    return alone(left_out)


def anybody(server, method, path, **headers):
    """Without the token."""
    return server.call(method, path, headers={"Authorization": "", **{k.replace("_", "-"): v for k, v in headers.items()}})


@with_page
def everybody_gets_the_page_and_only_the_page(server):
    for path, kind in FILES.items():
        answer = anybody(server, "GET", path)
        same((answer.status, answer.headers["content-type"]), (200, kind), path)
        same(len(answer.body) > 100, True, path)
    expect(anybody(server, "GET", "/v1/info"), 401, "UNAUTHORIZED")
    expect(anybody(server, "POST", "/"), 405, "BAD_REQUEST")
    expect(server.call("GET", "/app.mjs"), 404, "NOT_FOUND")
    expect(server.call("GET", "/", headers={"Host": "evil.example"}), 403, "FORBIDDEN")


@with_page
def every_file_says_what_it_may_do(server):
    for path in FILES:
        headers = anybody(server, "GET", path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        same(policy, POLICY, path)
        same((headers["x-content-type-options"], headers["referrer-policy"], headers["cache-control"]),
             ("nosniff", "no-referrer", "no-cache"), path)


@with_page
def what_is_known_is_not_sent_again(server):
    for path in FILES:
        tag = anybody(server, "GET", path).headers["etag"]
        for known in (tag, tag.removeprefix("W/"), f'"x", {tag}', "*"):
            answer = anybody(server, "GET", path, If_None_Match=known)
            same((answer.status, answer.body, answer.headers["etag"]), (304, b"", tag), f"{path} {known}")
        for other in ('"x"', tag[:-2] + '"', tag.strip('"W/'), ""):
            same(anybody(server, "GET", path, If_None_Match=other).status, 200, f"{path} {other!r}")
    same(len({anybody(server, "GET", path).headers["etag"] for path in FILES}), len(FILES), "each has its own")


@with_page
def head_tells_the_length_and_sends_nothing(server):
    for path in FILES:
        for coding in ("identity", "gzip"):
            whole = anybody(server, "GET", path, Accept_Encoding=coding)
            head = anybody(server, "HEAD", path, Accept_Encoding=coding)
            same((head.status, head.body, head.headers["content-length"]), (200, b"", str(len(whole.body))))
            same(head.headers["etag"], whole.headers["etag"])


@with_page
def who_takes_gzip_gets_it(server):
    for path in FILES:
        plain = anybody(server, "GET", path, Accept_Encoding="identity")
        same("content-encoding" in plain.headers, False)
        for taken in ("gzip", "gzip, deflate, br", "br;q=1.0, GZIP;q=0.5", "deflate , gzip ; q=0.001"):
            packed = anybody(server, "GET", path, Accept_Encoding=taken)
            same(packed.headers["content-encoding"], "gzip", taken)
            same(gzip.decompress(packed.body) == plain.body, True, path)
            same(packed.headers["vary"], "Accept-Encoding")
        for refused in ("", "br", "gzip;q=0", "gzip; q=0.0", "x-gzipped", "gzi", "identity;q=1, *;q=0"):
            same("content-encoding" in anybody(server, "GET", path, Accept_Encoding=refused).headers, False, refused)


@with_page
def nothing_comes_from_elsewhere(server):
    """No address of another host in any file, nothing inline in the page, licences named."""
    for path in FILES:
        text = anybody(server, "GET", path, Accept_Encoding="identity").body.decode()
        found = set(re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^\s\"'`)<>]*", text, re.I)) - NAMESPACES
        same(found, set(), path)
        same(re.findall(r"@import|sourceMappingURL", text), [], path)
    index = anybody(server, "GET", "/").body.decode()
    same(re.findall(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=\"/)", index), [])
    for asset in re.findall(r'(?:src|href)="([^"]+)"', index):
        same(asset in FILES, True, asset)
    holds(anybody(server, "GET", "/app.js").body.decode(), "stompjs", "Apache License 2.0")


@alone
def a_server_without_the_page_says_so():
    with Server(binary=os.path.join(os.path.dirname(TOCSIN), "tocsin_without_page")) as server:
        answer = server.get("/")
        holds(answer.body.decode(), "built without its page", "scripts/setup run")
        same(answer.headers["content-type"], FILES["/"])
        same("content-security-policy" in answer.headers, True)
        same(server.get("/", 304, {"If-None-Match": answer.headers["etag"]}).body, b"")
        for path in ("/app.js", "/app.css", "/favicon.svg"):
            expect(server.get(path, 404), 404, "NOT_FOUND", "built without the page")
        server.add(id="a")
        same(server.stop(), 0)


@alone
def the_lock_file_names_no_host():
    for name in ("package-lock.json", "package.json", ".npmrc"):
        text = (ROOT / "web" / name).read_text()
        same(re.findall(r"https?://\S+", text), [], name)
    done = subprocess.run(["git", "ls-files", "web/node_modules", "web/dist"], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    same(done.stdout, "")


if __name__ == "__main__":
    sys.exit(main())
