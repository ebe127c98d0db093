# SPDX-License-Identifier: MIT
"""Does an answer fit the OpenAPI description, and is that one sound?

The part of JSON Schema 2020-12 that src/server/openapi.json uses, and no more: a keyword
that is not known here is an error, not a pass. Stricter than JSON Schema in one point: an
object with `properties` may have no others unless it says so, since the description is to
name every field there is.
"""
import datetime
import json
import re

NOTES = {"description", "examples", "example", "default", "title"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
METHODS = {"get", "put", "post", "delete"}


class Unfit(Exception):
    pass


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def equal(one, other):
    return one == other and isinstance(one, bool) == isinstance(other, bool)


class Description:
    def __init__(self, document):
        self.document = document
        self.routes = []
        for path, item in document["paths"].items():
            words = [".+" if word.startswith("{") else re.escape(word) for word in path.split("/")]
            pattern = re.compile("/".join(w.replace(".+", "[^/]+") for w in words))
            for method in METHODS & set(item):
                self.routes.append((method, path, pattern, item[method]))
        self.routes.sort(key=lambda route: "{" in route[1])  # those named in full come first

    def resolve(self, thing):
        while "$ref" in thing:
            place, rest = self.document, {k: v for k, v in thing.items() if k != "$ref"}
            if not thing["$ref"].startswith("#/"):
                raise Unfit(f"{thing['$ref']} leaves the document")
            for word in thing["$ref"][2:].split("/"):
                place = place[word]
            thing = {**place, **rest}
        return thing

    # ---- values

    def fits(self, value, schema):
        try:
            self.fit(value, schema, "")
        except Unfit:
            return False
        return True

    def fit(self, value, schema, where):
        schema = self.resolve(schema)
        for keyword, wanted in schema.items():
            if keyword not in NOTES:
                self.fit_keyword(value, schema, keyword, wanted, where)

    def fit_keyword(self, value, schema, keyword, wanted, where):
        def need(good):
            if not good:
                raise Unfit(f"{where or 'it'} is {json.dumps(value)[:200]}: {keyword} {wanted}")

        if keyword == "type":
            need(any(is_type(value, name) for name in ([wanted] if isinstance(wanted, str) else wanted)))
        elif keyword == "enum":
            need(any(equal(value, one) for one in wanted))
        elif keyword == "const":
            need(equal(value, wanted))
        elif keyword in ("anyOf", "oneOf"):
            count = sum(self.fits(value, one) for one in wanted)
            need(count == 1 if keyword == "oneOf" else count >= 1)
        elif keyword in ("minimum", "maximum"):
            if is_type(value, "number"):
                need(value >= wanted if keyword == "minimum" else value <= wanted)
        elif keyword in ("minLength", "maxLength", "pattern", "format"):
            if isinstance(value, str):
                need(self.fit_text(value, keyword, wanted))
        elif keyword in ("items", "maxItems"):
            if isinstance(value, list):
                need(keyword != "maxItems" or len(value) <= wanted)
                for i, one in enumerate(value if keyword == "items" else []):
                    self.fit(one, wanted, f"{where}[{i}]")
        elif keyword in ("properties", "required", "additionalProperties", "minProperties",
                         "maxProperties"):
            if isinstance(value, dict):
                self.fit_object(value, schema, keyword, wanted, where, need)
        else:
            raise Unfit(f"{keyword} is not a keyword this checker knows")

    @staticmethod
    def fit_text(value, keyword, wanted):
        if keyword == "pattern":
            return re.search(wanted, value) is not None
        if keyword == "format":
            if wanted != "date-time":
                raise Unfit(f"the format {wanted} is not known")
            try:
                datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
                return "T" in value
            except ValueError:
                return False
        return len(value) >= wanted if keyword == "minLength" else len(value) <= wanted

    def fit_object(self, value, schema, keyword, wanted, where, need):
        if keyword == "required":
            need(all(name in value for name in wanted))
        elif keyword == "minProperties":
            need(len(value) >= wanted)
        elif keyword == "maxProperties":
            need(len(value) <= wanted)
        elif keyword == "properties":
            for name, one in value.items():
                if name in wanted:
                    self.fit(one, wanted[name], f"{where}.{name}")
                elif not schema.get("additionalProperties", False):
                    raise Unfit(f"{where}.{name} is not in the description")

    # ---- answers

    def route_of(self, method, path):
        for name, template, pattern, operation in self.routes:
            if name == method.lower() and pattern.fullmatch(path):
                return template, operation
        return None, None

    def check(self, method, target, answer):
        """AssertionError when this answer is not one that is described."""
        path = target.split("?")[0]
        template, operation = self.route_of("GET" if method == "HEAD" else method, path)
        try:
            if operation is None:
                if answer.status not in (400, 401, 403, 404, 405):
                    raise Unfit("this route is not in the description")
                self.check_content(answer, self.document["components"]["responses"]["NotFound"])
                return
            response = operation["responses"].get(str(answer.status))
            if response is None:
                raise Unfit(f"the status {answer.status} is not in the description")
            if method != "HEAD" and answer.status != 304:
                self.check_content(answer, self.resolve(response))
            self.check_headers(answer, self.resolve(response))
        except Unfit as unfit:
            raise AssertionError(f"{method} {target}: {unfit}\n{answer!r}") from None

    def check_content(self, answer, response):
        seen = answer.headers.get("content-type", "").split(";")[0]
        if seen not in response["content"]:
            raise Unfit(f"the content type {seen} is not in the description")
        schema = response["content"][seen]["schema"]
        if seen == "application/x-ndjson":
            for line in answer.body.splitlines():
                self.fit(json.loads(line), schema, "")
        elif seen.endswith("json"):
            self.fit(json.loads(answer.body), schema, "")
            if seen == "application/problem+json" and answer.json["status"] != answer.status:
                raise Unfit("the problem has another status than the answer")

    def check_headers(self, answer, response):
        described = response.get("headers", {})
        for name in ("ETag", "Retry-After", "Idempotency-Replayed", "WWW-Authenticate", "Allow"):
            seen = answer.headers.get(name.lower())
            if seen is not None:
                if name not in described:
                    raise Unfit(f"the header {name} is not in the description")
                schema = self.resolve(self.resolve(described[name])["schema"])
                self.fit(int(seen) if schema.get("type") == "integer" else seen, schema, name)
        if answer.status >= 500 and answer.status != 500 and "Retry-After" in described:
            if "retry-after" not in answer.headers:
                raise Unfit("Retry-After is missing")

    # ---- the document itself

    def check_schema(self, schema, where):
        if not isinstance(schema, dict):
            raise Unfit(f"{where} is not a schema")
        full = self.resolve(schema)
        for keyword, value in schema.items():
            if keyword == "properties":
                for name, one in value.items():
                    self.check_schema(one, f"{where}.{name}")
            elif keyword in ("anyOf", "oneOf"):
                for one in value:
                    self.check_schema(one, where)
            elif keyword == "items":
                self.check_schema(value, f"{where}[]")
            elif keyword == "required":
                if not set(value) <= set(full.get("properties", {})):
                    raise Unfit(f"{where} requires what it does not have: {value}")
            elif keyword == "pattern":
                re.compile(value)
            elif keyword == "type":
                names = [value] if isinstance(value, str) else value
                if not set(names) <= {*TYPES, "integer", "number"}:
                    raise Unfit(f"{where}: {names} is no type")
            elif keyword not in {"$ref", "enum", "const", "minimum", "maximum", "minLength",
                                 "maxLength", "format", "maxItems", "additionalProperties",
                                 "minProperties", "maxProperties", *NOTES}:
                raise Unfit(f"{where}: {keyword} is not a keyword this checker knows")
        for example in schema.get("examples", []):
            self.fit(example, schema, f"an example of {where}")
        if "default" in schema:
            self.fit(schema["default"], schema, f"the default of {where}")
        return full

    def check_parameter(self, parameter, path, where):
        parameter = self.resolve(parameter)
        if set(parameter) - {"name", "in", "required", "description", "schema"}:
            raise Unfit(f"{where}: {set(parameter)}")
        if parameter["in"] not in ("path", "query", "header"):
            raise Unfit(f"{where}: in {parameter['in']}")
        if parameter["in"] == "path" and (f"{{{parameter['name']}}}" not in path
                                          or parameter.get("required") is not True):
            raise Unfit(f"{where}: {parameter['name']} is not in {path}, or not required")
        self.check_schema(parameter["schema"], where)
        return parameter["in"], parameter["name"]

    def check_response(self, response, where):
        response = self.resolve(response)
        if set(response) - {"description", "content", "headers"} or not response["description"]:
            raise Unfit(f"{where}: {set(response)}")
        for name, content in response["content"].items():
            if "/" not in name or set(content) != {"schema"}:
                raise Unfit(f"{where}: {name}")
            self.check_schema(content["schema"], where)
        for name, header in response.get("headers", {}).items():
            self.check_schema(self.resolve(header)["schema"], f"{where} {name}")

    def check_operation(self, path, shared, method, operation, seen):
        where = f"{method} {path}"
        if set(operation) - {"operationId", "tags", "summary", "description", "parameters",
                             "requestBody", "responses", "security"}:
            raise Unfit(f"{where}: {set(operation)}")
        if operation["operationId"] in seen:
            raise Unfit(f"{where}: {operation['operationId']} is there twice")
        seen.add(operation["operationId"])
        tags = {tag["name"] for tag in self.document["tags"]}
        if not set(operation["tags"]) <= tags or not operation["summary"]:
            raise Unfit(f"{where}: {operation['tags']}")
        names = [self.check_parameter(p, path, where)
                 for p in [*shared, *operation.get("parameters", [])]]
        if len(set(names)) != len(names):
            raise Unfit(f"{where}: a parameter is there twice")
        if set(re.findall(r"{(\w+)}", path)) != {name for place, name in names if place == "path"}:
            raise Unfit(f"{where}: the path and its parameters do not agree")
        body = operation.get("requestBody")
        if body is not None:
            if method in ("get", "delete") or set(body) != {"required", "content"}:
                raise Unfit(f"{where}: a body")
            for content in body["content"].values():
                self.check_schema(content["schema"], where)
        if not any(status.startswith("2") or status == "101" for status in operation["responses"]):
            raise Unfit(f"{where}: it never ends well")
        for status, response in operation["responses"].items():
            if not re.fullmatch("101|[2-5][0-9][0-9]", status):
                raise Unfit(f"{where}: {status}")
            self.check_response(response, f"{where} {status}")

    def check_document(self):
        document = self.document
        if set(document) != {"openapi", "info", "servers", "security", "tags", "paths", "components"}:
            raise Unfit(f"the document has {set(document)}")
        if not re.fullmatch(r"3\.1\.\d+", document["openapi"]):
            raise Unfit(document["openapi"])
        if not {"title", "version"} <= set(document["info"]):
            raise Unfit("info")
        seen = set()
        for path, item in document["paths"].items():
            if not path.startswith("/") or set(item) - METHODS - {"parameters"}:
                raise Unfit(f"{path}: {set(item)}")
            for method in METHODS & set(item):
                self.check_operation(path, item.get("parameters", []), method, item[method], seen)
        for name, schema in document["components"]["schemas"].items():
            self.check_schema(schema, name)
        for name, response in document["components"]["responses"].items():
            self.check_response(response, name)
        used = set(re.findall(r'"\$ref": "#/components/(\w+/\w+)"', json.dumps(document)))
        there = {f"{part}/{name}" for part, things in document["components"].items()
                 for name in things if part != "securitySchemes"}
        # A response that only the gate gives, and so stands in no operation.
        if there - used - {"responses/MethodNotAllowed"} or used - there:
            raise Unfit(f"used and not there: {used - there}; there and not used: {there - used}")
        schemes = set(document["components"]["securitySchemes"])
        if not all(set(one) <= schemes for one in document["security"]):
            raise Unfit("security")
