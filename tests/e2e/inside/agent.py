# SPDX-License-Identifier: Apache-2.0
# Runs inside the sandbox: one JSON request a line in, one reply a line out.
import json
import os
import signal
import subprocess
import sys
import threading
import time

lock = threading.Lock()
running = {}


def say(reply):
    with lock:
        print(json.dumps(reply), flush=True)


def run(request):
    started = time.monotonic()
    env = None if request["env"] is None else request["env"]
    try:
        child = subprocess.Popen(request["argv"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, errors="replace", env=env,
                                 start_new_session=True)
        running[request["number"]] = child
        out, err = child.communicate(request["input"])
        status = child.returncode
    except OSError as problem:
        status, out, err = 127, "", str(problem)
    say({"number": request["number"], "status": status, "out": out, "err": err,
         "seconds": time.monotonic() - started})


say({"number": "hello", "pid": os.getpid(), "uid": os.getuid(), "cwd": os.getcwd()})
for line in sys.stdin:
    message = json.loads(line)
    if "quit" in message:
        break
    if "kill" in message:
        try:
            os.killpg(running[message["kill"]].pid, message["signal"])
        except (KeyError, ProcessLookupError):
            pass
        continue
    threading.Thread(target=run, args=(message,), daemon=True).start()
for child in running.values():
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
os._exit(0)
