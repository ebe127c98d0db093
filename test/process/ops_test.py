#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ops_test.py TOCSIN - do the tools of those who run it accept what we ship in ops/?

Asks promtool about the alert rules (W-09), and whether each of them is really tested; asks
systemd-analyze how exposed the service is. Prints a line "ok ..." or "FAILED ..." per test,
and at the end the sum. `scripts/setup test` installs both tools.
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

OPS = pathlib.Path(__file__).resolve().parent.parent.parent / "ops"
TOCSIN = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) == 2 else sys.exit(__doc__)
PATIENCE = 60
EXPOSURE_MAX = 20  # tenths: 2.0
ALERT = re.compile(r"^ +- alert: (\w+)\n +expr: (.*?)(?=^ +(?:for|labels):)", re.M | re.S)


def run(*command, cwd=OPS):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=cwd,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)


def accepts(done):
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(done.args)}: exit {done.returncode}\n"
                             f"{done.stdout}{done.stderr}")


def test_promtool_accepts_the_alert_rules():
    accepts(run("promtool", "check", "rules", "alerts.yml"))


def test_each_alert_fires_when_it_should_and_not_before():
    accepts(run("promtool", "test", "rules", "alerts_test.yml"))


def test_the_rules_cover_what_the_requirement_names():
    rules = dict(ALERT.findall((OPS / "alerts.yml").read_text()))
    for name, part in {"TocsinTasksFailing": "> 100", "TocsinManyActiveTasks": "> 100000",
                       "TocsinLate": "> 1", "TocsinQueueNearlyFull": "> 0.8",
                       "TocsinStoreErrors": "> 0", "TocsinDiskFull": "> 0",
                       "TocsinDown": "== 0"}.items():
        if part not in rules.get(name, ""):
            raise AssertionError(f"{name}: {part!r} is missing in {rules.get(name)!r}")


# One that always fires is noticed by the test of a healthy server.
def test_a_rule_that_never_fires_is_noticed():
    rules = (OPS / "alerts.yml").read_text()
    alerts = ALERT.findall(rules)
    if len(alerts) != rules.count("- alert:"):
        raise AssertionError("this test does not see all the alerts")
    with tempfile.TemporaryDirectory() as folder:
        tests = (OPS / "alerts_test.yml").read_text()
        pathlib.Path(folder, "alerts_test.yml").write_text(tests)
        for name, condition in alerts:
            head = f"- alert: {name}\n        expr: "
            broken = rules.replace(head + condition, head + 'up{job="tocsin"} > 9\n')
            pathlib.Path(folder, "alerts.yml").write_text(broken)
            done = run("promtool", "test", "rules", "alerts_test.yml", cwd=folder)
            if done.returncode == 0 or name not in done.stdout + done.stderr:
                raise AssertionError(f"{name} that never fires passes the tests")


def test_the_service_is_exposed_little():
    accepts(run("systemd-analyze", "security", "--offline=true", "--no-pager",
                f"--threshold={EXPOSURE_MAX}", OPS / "tocsin.service"))


def test_the_threshold_is_one_that_a_bare_unit_does_not_pass():
    with tempfile.TemporaryDirectory() as folder:
        bare = pathlib.Path(folder, "bare.service")
        bare.write_text("[Service]\nExecStart=/bin/true\n")
        done = run("systemd-analyze", "security", "--offline=true", "--no-pager",
                   f"--threshold={EXPOSURE_MAX}", bare)
        if done.returncode == 0:
            raise AssertionError("a unit without any sandboxing passes")


def test_systemd_understands_every_line_of_the_unit():
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder, "tocsin.service")
        text = (OPS / "tocsin.service").read_text()
        unit.write_text(text.replace("/usr/local/bin/tocsin ", f"{TOCSIN} "))
        done = run("systemd-analyze", "verify", "--man=no", unit)
        accepts(done)
        if done.stdout + done.stderr:
            raise AssertionError(done.stdout + done.stderr)


def main():
    failed = 0
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for name, test in tests:
        what = name.removeprefix("test_").replace("_", " ")
        try:
            test()
            print(f"ok {what}", flush=True)
        except Exception:  # one that breaks must not hide the others
            traceback.print_exc(file=sys.stdout)
            print(f"FAILED {what}", flush=True)
            failed += 1
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
