# SPDX-License-Identifier: MIT
"""@stomp/stompjs for tests: the packages of test/stomp, installed once, also when several tests want
them at the same time."""
import fcntl
import json
import pathlib
import shutil
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/stomp"
LOCK = threading.Lock()


def install():
    source = ROOT / "test/stomp"
    wanted = (source / "package-lock.json").read_bytes()
    done = FOLDER / "node_modules/.installed"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with LOCK, open(FOLDER / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in (*source.glob("*.mjs"), *source.glob("package*.json"), source / ".npmrc"):
            new = FOLDER / f"{path.name}.new"  # put in place whole: another test's node may be reading it
            shutil.copy(path, new)
            new.replace(FOLDER / path.name)
        if done.exists() and done.read_bytes() == wanted:
            return
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=FOLDER,
                       check=True, capture_output=True, timeout=300)
        done.write_bytes(wanted)


def stompjs(script, *words):
    """What it printed, which is JSON."""
    install()
    done = subprocess.run(["node", script, *words], cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{script}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)
