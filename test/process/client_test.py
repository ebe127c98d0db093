#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""client_test.py TOCSIN - do the commands that ask a server do what they say?

Each one once good, once refused, once with nobody there. Prints a line "ok ..." or "FAILED ..."
per test, and at the end the sum.
"""
import datetime
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

from support import (PATIENCE, TOCSIN, alone, end, holds, main, real_server, same, shared,
                     start_tocsin, tocsin, wait_for)


def good(server, *words, **more):
    done = tocsin(*words, url=server.url, **more)
    same((done.returncode, done.stderr), (0, ""), " ".join(words))
    return done.stdout


def as_json(server, *words, **more):
    return json.loads(good(server, *words, "--json", **more))


def refused(server, *words, code=1, **more):
    done = tocsin(*words, url=server.url, **more)
    same((done.returncode, done.stdout), (code, ""), " ".join(words))
    same("\x1b" in done.stderr, False, "escape codes")
    holds(done.stderr, f"tocsin {words[0]}: ")
    return done.stderr


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@shared
def add_takes_every_field(server):
    task = as_json(server, "add", "--id", "all", "--name", "Every field", "--cron", "30 2 * * *",
                   "--tz", "Europe/Berlin", "--repeat", "5", "--misfire", "skip", "--overlap",
                   "queue", "--jitter", "30s", "--queue", "q1", "--payload", '{"n": 1e400}',
                   "--retry-max", "7", "--retry-base", "2s", "--retry-factor", "3",
                   "--retry-cap", "5m", "--retry-jitter", "0.5", "--timeout", "10m",
                   "--dst-gap", "skip", "--dst-overlap", "both")
    wanted = {"id": "all", "name": "Every field", "cron": "30 2 * * *", "tz": "Europe/Berlin",
              "repeat": 5, "misfire": "skip", "overlap": "queue", "jitter": "30s",
              "retry": {"max": 7, "base": "2s", "factor": 3, "cap": "5m", "jitter": 0.5},
              "timeout": "10m", "dst": {"gap": "skip", "overlap": "both"},
              "target": {"type": "queue", "queue": "q1"}, "status": "pending"}
    same({key: task.get(key) for key in wanted}, wanted)
    every = as_json(server, "add", "--every", "10m", "--from", "end", "--delay", "1h")
    same((every["every"], every["from"], every["delay"]), ("10m", "end", "1h"))
    for at, due in (("2100-01-01T00:00:00+01:00", 4102441200000), ("4102441200000", 4102441200000)):
        same(as_json(server, "add", "--at", at)["due_ms"], due, at)


@shared
def add_says_when_it_is_due(server):
    said = good(server, "add", "--id", "soon", "--delay", "5m")
    same(bool(re.fullmatch(r"soon pending, due in (4m 59s|5m) \(20.*\)\n", said)), True, said)


@shared
def add_takes_a_payload_from_a_file_and_from_stdin(server):
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write('\n{"from": "file"}\n')
        file.flush()
        good(server, "add", "--id", "file", "--delay", "1h", "--payload-file", file.name)
    same(server.task("file")["payload"], {"from": "file"})
    good(server, "add", "--id", "stdin", "--delay", "1h", "--payload-file", "-", given="[1,2]")
    same(server.task("stdin")["payload"], [1, 2])


@shared
def add_refuses_what_is_wrong(server):
    holds(refused(server, "add", "--delay", "soon"), "delay", "400 VALIDATE_FAILED")
    holds(refused(server, "add", "--delay", "1s", "--at", "2100-01-01T00:00:00Z"), "400")
    good(server, "add", "--id", "twice", "--delay", "1h")
    holds(refused(server, "add", "--id", "twice", "--delay", "1h"), "409 CONFLICT")
    holds(refused(server, "add", "--payload", "{nope", code=2), "not JSON", "byte 1")
    holds(refused(server, "add", "--payload-file", "/nowhere", code=2), "/nowhere", "No such file")
    holds(refused(server, "add", "--repeat", "often", code=2), "--repeat 'often' is not allowed")
    holds(refused(server, "add", "--replace", code=2), "--replace needs --id")


@shared
def add_replaces_a_task_of_the_revision_it_is_told(server):
    first = as_json(server, "add", "--id", "swap", "--delay", "1h")
    holds(refused(server, "add", "--id", "swap", "--replace", "--delay", "2h", "--if-match",
                  str(first["rev"] + 1000)), "412")
    second = as_json(server, "add", "--id", "swap", "--replace", "--delay", "2h", "--if-match",
                     str(first["rev"]))
    same(second["delay"], "2h")


@shared
def asking_twice_with_one_key_is_asking_once(server):
    words = ("add", "--delay", "1h", "--idempotency-key", "once-only")
    same(as_json(server, *words)["id"], as_json(server, *words)["id"])


@shared
def a_batch_is_added_and_what_is_refused_is_named(server):
    lines = [json.dumps({"id": f"batch-{n}", "delay": "1h"}) for n in range(2500)]
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        holds(good(server, "add", "--batch", file.name), "2 500 added, 0 refused")
    done = tocsin("add", "--batch", "-", url=server.url,
                      given='{"delay":"1h"}\n\n{"delay":"never"}\n{"id":"batch-7"}\n')
    same(done.returncode, 1)
    holds(done.stdout, "1 added, 2 refused")
    holds(done.stderr, "line 3: delay", "line 4: ", "CONFLICT")
    same(len(good(server, "ls", "--prefix", "batch-", "--all").splitlines()), 2501)
    answers = good(server, "add", "--batch", "-", "--json", given='{"delay":"1h"}\n{"delay":"2h"}')
    same([json.loads(line)["delay"] for line in answers.splitlines()], ["1h", "2h"])
    holds(refused(server, "add", "--batch", "/nowhere", code=2), "/nowhere")


@shared
def ls_filters_and_follows_the_cursor(server):
    for n in range(5):
        good(server, "add", "--id", f"ls-{n}", "--delay", "1h", "--queue", "ls-q")
    good(server, "pause", "ls-3")
    table = good(server, "ls", "--prefix", "ls-")
    holds(table, "ID ", "STATUS", "ls-4", "in 59m", "paused")
    same(len(table.splitlines()), 6)
    same(len(good(server, "ls", "--queue", "ls-q", "--status", "pending").splitlines()), 5)
    same([task["id"] for task in as_json(server, "ls", "--prefix", "ls-", "--limit", "2")["tasks"]],
         ["ls-0", "ls-1"])
    done = tocsin("ls", "--prefix", "none-such", url=server.url)
    same((done.returncode, done.stdout, done.stderr), (0, "", "no tasks\n"))
    holds(refused(server, "ls", "--status", "sleeping"), "status", "400")


@shared
def show_and_why_explain(server):
    good(server, "add", "--id", "look/at me", "--delay", "1h", "--payload", '"p"')
    holds(good(server, "show", "look/at me"), "look/at me", "status       pending", "in 59m", '"p"')
    holds(good(server, "why", "look/at me"), "it is not due yet", "default")
    same(as_json(server, "show", "look/at me")["payload"], "p")
    same(as_json(server, "why", "look/at me")["status"], "pending")
    for command in ("show", "why"):
        holds(refused(server, command, "no-such"), "there is no such task (404 NOT_FOUND)")
        refused(server, command, "..", code=2)


@shared
def a_task_cannot_talk_to_the_terminal(server):
    server.add(id="evil", delay=0, retry={"max": 0}, target={"type": "queue", "queue": "evil"})
    server.nack(server.lease_one("evil", wait="5s"), error="\x1b]0;gotcha\x07 \x9b31m")
    for words in (("show", "evil"), ("incidents",)):
        said = good(server, *words)
        holds(said, "gotcha")
        same([c for c in said if c in "\x1b\x07\x9b"], [], "control characters")


@shared
def changes_of_several_tasks(server):
    for n in range(3):
        good(server, "add", "--id", f"change-{n}", "--delay", "1h", "--queue", "change")
    holds(good(server, "pause", "change-0", "change-1"), "change-0 paused\nchange-1 paused\n")
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    good(server, "pause", "change-2", "--until", until.isoformat())
    holds(good(server, "resume", "change-0"), "change-0 pending, due in")
    good(server, "fire", "change-1")
    wait_for(lambda: server.get("/v1/queues")["queues"] and any(
        row["queue"] == "change" and row["depth"] == 1
        for row in server.get("/v1/queues")["queues"]), "change-1 is ready")
    holds(good(server, "queues"), "QUEUE", "change ")
    holds(good(server, "cancel", "change-0", "change-1", "change-2"), "change-2 cancelled")
    done = tocsin("cancel", "no-such", "change-0", url=server.url)
    same(done.returncode, 1)
    same(done.stderr, "".join(f"tocsin cancel: {name}: there is no such task (404 NOT_FOUND)\n"
                              for name in ("no-such", "change-0")))
    for command in ("pause", "resume", "fire"):
        holds(refused(server, command, "no-such"), "404 NOT_FOUND")


@shared
def if_match_guards_a_change(server):
    rev = as_json(server, "add", "--id", "guarded", "--delay", "1h")["rev"]
    holds(refused(server, "cancel", "guarded", "--if-match", str(rev + 1000)), "412")
    good(server, "cancel", "guarded", "--if-match", str(rev))


@shared
def incidents_are_listed_retried_and_dropped(server):
    for task_id in ("broken-0", "broken-1"):
        server.add(id=task_id, delay=0, retry={"max": 0}, target={"type": "queue", "queue": "broken"})
        server.nack(server.lease_one("broken", wait="5s"), error="the disk is on fire")
    holds(good(server, "incidents"), "broken-0", "the disk is on fire")
    holds(good(server, "incidents", "retry", "broken-0"), "broken-0 is tried again")
    holds(good(server, "incidents", "drop", "broken-1"), "broken-1 is dropped")
    same([row["task_id"] for row in as_json(server, "incidents")["incidents"]
          if row["task_id"].startswith("broken")], [])
    holds(refused(server, "incidents", "drop", "broken-1"), "404")
    holds(refused(server, "incidents", "mend", "x", code=2), "neither retry nor drop")
    holds(refused(server, "incidents", "retry", code=2), "the id of a task is missing")


@alone
def events_show_no_control_characters():
    with real_server() as server:
        server.add(id="a", retry={"max": 0})
        server.nack(server.lease_one(), error="a\x9bb\x1bc")
        text = tocsin("events", "--limit", "1", url=server.url).stdout
    holds(text, "failed")
    same([c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)], [])


@alone
def events_are_followed_also_over_a_restart():
    with real_server("--set", "history.tasks=all") as server:
        follower = start_tocsin("events", "--limit", "2", "--json", url=server.url)
        try:
            server.add(id="one", delay="1h")
            server.delete("/v1/tasks/one")
            first = json.loads(follower.stdout.readline())
            same(first["key"], "one")
            server.kill()
            server.start()
            server.add(id="two", delay="1h")
            server.delete("/v1/tasks/two")
            second = json.loads(follower.stdout.readline())
            same(second["seq"] > first["seq"], True)
            same(follower.wait(timeout=PATIENCE), 0)
        finally:
            end(follower)
        holds(good(server, "events", "--limit", "1"), " one")


@shared
def info_says_which_server_it_is(server):
    holds(good(server, "info"), "version", "store        sqlite", "records")
    same("limits" in as_json(server, "info"), True)


@shared
def bench_does_all_its_tasks(server):
    done = as_json(server, "bench", "--tasks", "300", "--connections", "4", "--spread", "200ms")
    same((done["scheduled"], done["acked"]), (300, 300))
    holds(good(server, "bench", "--tasks", "50", "--spread", "0s"), "a second", "late", "p99")


@alone
def nobody_there_is_exit_3():
    url = f"http://127.0.0.1:{free_port()}"
    for words in (["add", "--delay", "1s"], ["ls"], ["show", "x"], ["why", "x"], ["cancel", "x"],
                  ["pause", "x"], ["resume", "x"], ["fire", "x"], ["queues"], ["incidents"],
                  ["incidents", "drop", "x"], ["events"], ["info"], ["top", "--once"],
                  ["bench", "--tasks", "1"], ["add", "--batch", "-"]):
        done = tocsin(*words, url=url, given='{"delay":1}\n')
        same((done.returncode, done.stdout), (3, ""), words)
        holds(done.stderr, f"tocsin {words[0]}: cannot reach {url}: ", "; is it running? tocsin serve")


@alone
def a_lost_answer_is_not_called_done():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        done = tocsin("add", "--delay", "1s", "--request-timeout", "200ms", "--url", url)
        same((done.returncode, done.stdout), (3, ""))
        holds(done.stderr, "no answer", "it may have been done or not")


@alone
def tokens_come_from_the_environment_or_a_file():
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "tocsin.yml")
        config.write_text("tokens:\n  - name: tester\n    token: "
                          "a-token-that-is-long-enough-to-be-one\n")
        with real_server("--config", str(config)) as server:
            holds(refused(server, "ls"), "401 UNAUTHORIZED")
            token = "a-token-that-is-long-enough-to-be-one"
            good(server, "info", TOCSIN_TOKEN=token)
            file = pathlib.Path(folder, "token")
            file.write_text(token + "\n")
            good(server, "info", "--token-file", str(file))
            refused(server, "info", "--token-file", "/nowhere", code=2)
            refused(server, "info", code=2, TOCSIN_TOKEN="with\nbreak")


@alone
def https_is_spoken_with_whom_it_trusts():
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "cert.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
             "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
            check=True, capture_output=True, timeout=PATIENCE)
        with real_server("--set", f"tls.certificate={certificate}", "--set",
                            f"tls.key={key}") as server:
            same(server.url.startswith("https://"), True, server.url)
            holds(good(server, "info", "--ca-file", certificate), "version")
            holds(refused(server, "info", code=3), "cannot reach", "certificate")


@alone
def ipv6_is_spoken():
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return  # a machine without it
    with real_server(address="[::1]:0") as server:
        holds(good(server, "info"), "version")


@shared
def with_json_an_error_is_json_on_stderr(server):
    nobody = f"http://127.0.0.1:{free_port()}"
    for words, code, url, *wanted in (
            (["show", "no-such"], 1, server.url, ("show", "no-such", 404, "NOT_FOUND")),
            (["fire", "no-such", "nor-that"], 1, server.url, ("fire", "no-such", 404, "NOT_FOUND"),
             ("fire", "nor-that", 404, "NOT_FOUND")),
            (["incidents", "retry", "no-such"], 1, server.url, ("incidents", "no-such", 404, "NOT_FOUND")),
            (["add", "--delay", "soon"], 1, server.url, ("add", None, 400, "VALIDATE_FAILED")),
            (["add", "--batch", "-"], 1, server.url, ("add", "line 2", 400, "VALIDATE_FAILED")),
            (["ls"], 3, nobody, ("ls", None, None, "UNREACHABLE")),
            (["show"], 2, nobody, ("show", None, None, "USAGE")),
            (["ls", "--statsu", "x"], 2, nobody, ("ls", None, None, "USAGE")),
            (["shwo", "x"], 2, nobody, (None, None, None, "USAGE")),
            (["preview", "0 0 30 2 *"], 1, nobody, ("preview", None, None, "FAILED")),
            (["serve", "--listen", "nowhere"], 2, nobody, ("serve", None, None, "USAGE")),
            (["verify", "/nowhere/at/all"], 1, nobody, ("verify", None, None, "FAILED"))):
        done = tocsin(*words, "--json", url=url, given='\n{"delay":"soon"}\n')
        same(done.returncode, code, words)
        lines = [json.loads(line) for line in done.stderr.splitlines()]
        same([tuple(line.get(name) for name in ("command", "about", "status", "code")) for line in lines],
             wanted, words)
        same(all(line["detail"] for line in lines), True, words)
    done = tocsin("work", "q-none", "--once", "--", "--json", url=nobody)
    holds(done.stderr, "tocsin work: ")  # what stands after -- is not ours


@alone
def wrong_words_are_refused_with_a_suggestion():
    for words, parts in ((["lss"], ["did you mean ls?"]), (["canel", "x"], ["cancel"]),
                         (["frobnicate"], ["the commands are:", "serve", "bench"]),
                         (["ls", "--statsu", "x"], ["unknown option '--statsu'", "--status?"]),
                         (["ls", "extra"], ["unknown argument 'extra'"]),
                         (["show"], ["the id of a task is missing"]),
                         (["info", "--url", "ftp://x"], ["--url 'ftp://x' is not allowed"])):
        done = tocsin(*words)
        same((done.returncode, done.stdout), (2, ""), words)
        holds(done.stderr, *parts)
    holds(tocsin("--help").stdout, *(f"\n  {name} " for name in all_commands() if " " not in name))
    holds(tocsin("--help").stdout, "\n  completion ", "--json")
    done = tocsin("ls", url="nowhere")
    same(done.returncode, 2)
    holds(done.stderr, "TOCSIN_URL 'nowhere'")


def all_words():
    return tocsin("completion", "list").stdout.splitlines()


def all_commands():
    """With their verbs: "ls", "countdown", "countdown start"."""
    return [line for line in all_words() if " -" not in line]


@alone
def every_command_explains_itself_with_an_example():
    names = all_commands()
    same(len(names) >= 30, True, names)
    for name in names:
        for words in ([*name.split(), "--help"], ["help", *name.split()]):
            done = tocsin(*words)
            same((done.returncode, done.stderr), (0, ""), words)
            holds(done.stdout, f"usage: tocsin {name}", "example: tocsin ", "exit codes: ")
            same([line for line in done.stdout.splitlines() if len(line) > 100], [], "wide lines")


@alone
def the_man_page_has_every_command_and_option():
    page = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/man/tocsin.1"
    text = page.read_text()
    shared = text.split(".Ss The options of all clients")[1].split(".Sh COMMANDS")[0]
    for line in all_words():
        name, _, option = line.partition(" -")
        parts = text.split(f"\n.Ss tocsin {name}\n")
        same(len(parts), 2, f"sections of {name} in the man page")
        section = re.split(r"\n\.S[sh] ", parts[1])[0] + shared
        if option and not re.search(rf"^\.It Fl {re.escape(option)}( |$)", section, re.M):
            raise AssertionError(f"{name} -{option} is missing in the man page")
    for part in ("ENVIRONMENT", "FILES", "EXIT STATUS", "DIAGNOSTICS", "SIGNALS", "EXAMPLES"):
        holds(text, f".Sh {part}\n")


@alone
def the_man_page_has_no_mistakes():
    page = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/man/tocsin.1"
    for tool in (["mandoc", "-Tlint", "-Wwarning"], ["groff", "-mdoc", "-ww", "-z", "-Tutf8"]):
        try:
            done = subprocess.run([*tool, str(page)], capture_output=True, text=True,
                                          timeout=PATIENCE, check=False)
        except FileNotFoundError:
            continue
        same((done.returncode, done.stdout + done.stderr), (0, ""), tool[0])


@alone
def shells_accept_the_completion():
    for shell in ("bash", "zsh", "fish"):
        script = tocsin("completion", shell)
        same((script.returncode, script.stderr), (0, ""))
        for name in ("serve", "work", "top"):
            holds(script.stdout, name)
    for shell in ("bash", "zsh"):
        done = subprocess.run(["bash", "-n"], input=tocsin("completion", shell).stdout,
                                      capture_output=True, text=True, check=False,
                                      timeout=PATIENCE)
        same((done.returncode, done.stderr), (0, ""), shell)
    holds(tocsin("completion", "tcsh").stderr, "none of bash, zsh and fish")


@alone
def bash_completes_commands_and_options():
    for words, wanted in ((["tocsin", "ca"], ["cancel"]), (["tocsin", "ls", "--pre"], ["--prefix"]),
                          (["tocsin", "help", "res"], ["resume"]),
                          (["tocsin", "countdown", "re"], ["resume"]),
                          (["tocsin", "help", "countdown", "sta"], ["start"]),
                          (["tocsin", "countdown", "start", "x", "--dea"], ["--deadline"]),
                          (["tocsin", "room", "ls", "--stat"], []),
                          (["tocsin", "add", "--retry-m"], ["--retry-max"])):
        quoted = " ".join(f"'{word}'" for word in words)
        done = subprocess.run(
            ["bash", "-c", f'. <("$0" completion bash); COMP_WORDS=({quoted}); '
             f'COMP_CWORD={len(words) - 1}; _tocsin; printf "%s\\n" "${{COMPREPLY[@]}}"',
             TOCSIN], capture_output=True, text=True, check=False, timeout=PATIENCE)
        same(done.stdout.split(), wanted, words)


@alone
def dump_goes_on_behind_a_page_that_cannot_be_read():
    with real_server() as server:
        for n in range(200):
            server.add(id=f"kept-{n}", delay="1h", payload=f"MARK{n:04}" + "x" * 200)
        server.stop()
        path = pathlib.Path(server.data, "tocsin.db")
        whole = path.read_bytes()
        start = whole.index(b"MARK0100") // 4096 * 4096
        path.write_bytes(whole[:start] + b"Z" * 4096 + whole[start + 4096:])
        done = tocsin("dump", server.data)
        keys = {json.loads(line)["key"] for line in done.stdout.splitlines()}
        same(done.returncode, 1)
        holds(done.stderr, "damaged: table record, rows ", f"(page {start // 4096 + 1}) are skipped")
        same({f"kept-{n}" for n in (0, 199)} <= keys, True, "what is before and behind")
        same(150 < len(keys) < 200, True, f"{len(keys)} of 200")


@alone
def verify_and_dump_of_a_good_a_locked_and_a_damaged_folder():
    with real_server() as server:
        for n in range(50):
            server.add(id=f"kept-{n}", delay="1h", payload=f"MARK{n:04}MARK")
        for command in ("verify", "dump"):
            holds(refused(server, command, server.data), "is in use by process",
                  str(server.process.pid))
        server.stop()
        holds(good(server, "verify", server.data), "50 records", "nothing damaged")
        same(as_json(server, "verify", server.data)["damages"], 0)
        rows = [json.loads(line) for line in good(server, "dump", server.data).splitlines()]
        same(sorted(row["key"] for row in rows), sorted(f"kept-{n}" for n in range(50)))
        same({row["doc"]["payload"] for row in rows}, {f"MARK{n:04}MARK" for n in range(50)})
        damaged = 0
        for path in pathlib.Path(server.data).iterdir():
            whole = path.read_bytes() if path.is_file() else b""
            if b"MARK0007MARK" in whole:
                path.write_bytes(whole.replace(b"MARK0007MARK", b"MARK0008MARK"))
                damaged += 1
        same(damaged > 0, True, "a file has the payload")
        done = tocsin("verify", server.data)
        same(done.returncode, 1)
        holds(done.stderr, "tocsin verify: damaged: table record, row ", " at byte ", " (page ",
              "go back to the last good backup")
        found = json.loads(tocsin("verify", server.data, "--json").stderr.splitlines()[0])
        same((found["command"], found["code"]), ("verify", "DAMAGED"))
        done = tocsin("dump", server.data)
        same(done.returncode, 1)
        same(len(done.stdout.splitlines()) < 50, True, "the damaged one is left out")
        holds(done.stderr, "use what was readable")
    with tempfile.TemporaryDirectory() as folder:
        for command in ("verify", "dump"):
            done = tocsin(command, os.path.join(folder, "nothing"))
            same((done.returncode, done.stdout), (1, ""))
            same(os.listdir(folder), [], "nothing is made")


if __name__ == "__main__":
    sys.exit(main(jobs=1))
