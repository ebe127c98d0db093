#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""openapi_test.py TOCSIN [NAME...] - is the description that the server gives true and whole?

That each answer fits it is checked by support.py in all tests of the server.
"""
import json
import re
import sys

from openapi_check import Description, Unfit
from support import DESCRIPTION, ROOT, alone, expect, holds, main, same, test

ROUTE = re.compile(r'\{HTTP_(\w+), "([^"]+)"')


@alone
def the_description_is_sound():
    DESCRIPTION.check_document()


@alone
def the_checker_sees_what_is_wrong():
    """The controls of the check above, and of all the others."""
    text = json.dumps(DESCRIPTION.document)
    for old, new in (('"operationId": "getTask"', '"operationId": "putTask"'),
                     ('"$ref": "#/components/schemas/Task"', '"$ref": "#/components/schemas/Tusk"'),
                     ('"in": "path"', '"in": "body"'), ('"minimum": 1', '"least": 1'),
                     ('"openapi": "3.1.0"', '"openapi": "3.0.0"'),
                     ('"required": ["runs"]', '"required": ["rums"]'),
                     ('"examples": ["default"]', '"examples": [""]')):
        holds(text, old)
        try:
            Description(json.loads(text.replace(old, new, 1))).check_document()
        except (Unfit, KeyError):
            continue
        raise AssertionError(f"nobody noticed {new}")
    for schema, value in (("Task", {"id": "a"}), ("Rev", 0), ("Rev", True), ("TaskStatus", "done"),
                          ("Problem", {"status": 400, "code": "NO", "title": "", "detail": ""}),
                          ("Clock", {"now_ms": 1, "elapsed_ms": 1, "more": 1}),
                          ("RunId", "r0"), ("EpochMs", 1.5), ("Duration", -1),
                          ("Preview", {"times": ["tomorrow"], "times_ms": []})):
        same(DESCRIPTION.fits(value, {"$ref": f"#/components/schemas/{schema}"}), False, f"{schema} {value}")


@alone
def every_route_is_described_and_no_other():
    source = (ROOT / "src/server/route.c").read_text()
    built = sorted((method.lower(), path) for method, path in ROUTE.findall(source))
    described = sorted((method, re.sub(r"{\w+}", "{}", path))
                       for method, path, _, _ in DESCRIPTION.routes)
    same(described, built)


@test()
def every_route_that_is_described_is_there(server):
    """Nobody is told that a path or a method is unknown."""
    for method, path, _, _ in DESCRIPTION.routes:
        if path in ("/v1/events",):
            continue  # has no end: operations_test.py follows it
        answer = server.call(method.upper(), re.sub(r"{\w+}", "x", path),
                             None if method in ("get", "delete") else {})
        same(answer.status == 405, False, path)
        if answer.status == 404:
            same("nothing under this path" in answer["detail"], False, path)


@test()
def what_is_not_described_is_not_there(server):
    for method, path in (("GET", "/v1"), ("GET", "/v1/tasks/a/b"), ("GET", "/v1/runs/a"), ("GET", "/v1/gamesome"),
                         ("GET", "/v1/tasks/"), ("GET", "//v1/tasks"), ("POST", "/v1/queues/a/b/lease")):
        expect(server.call(method, path), 404, "NOT_FOUND")
    for method, path in (("GET", "/v1/sales"), ("POST", "/reserve"), ("GET", "/v1/games")):
        expect(server.call(method, path), 400, "VALIDATE_FAILED", "not in this version")
    for method, path, allow in (("PATCH", "/v1/tasks/a", "PUT, GET, HEAD, DELETE"), ("PUT", "/v1/tasks", "POST, GET, HEAD"),
                                ("GET", "/v1/clock/advance", "POST"), ("DELETE", "/healthz", "GET, HEAD")):
        answer = expect(server.call(method, path), 405, "BAD_REQUEST", "method")
        same(answer.headers["allow"], allow)


@test()
def what_is_not_built_is_refused_and_absent(server):
    for kind in ("webhook", "topic"):
        answer = server.post("/v1/tasks", {"id": "a", "target": {"type": kind, "url": "http://x"}}, 400)
        expect(answer, 400, "VALIDATE_FAILED", "target.type", f"{kind}: not in this version")
    server.task("a", 404)
    text = json.dumps(DESCRIPTION.document)
    for word in ("webhook", '"topic"', "/v1/sales", "/v1/games"):
        same(word in text, False, word)


@test()
def the_server_gives_the_description_that_is_in_the_tree(server):
    answer = server.get("/openapi.json")
    same(answer.body, (ROOT / "src/server/openapi.json").read_bytes())
    same(answer["info"]["version"], server.get("/v1/info")["version"])
    same(answer["openapi"], "3.1.0")


if __name__ == "__main__":
    sys.exit(main())
