# SPDX-License-Identifier: Apache-2.0
# Runs inside the sandbox: one JSON request a line in, one reply a line out.
import base64
import json
import os
import signal
import socket
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


class Link:
    """The sandbox's link as whoever owns its kernel has it: frames out and in, of any kind."""

    def __init__(self, device):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((device, 0))
        self.own = self.socket.getsockname()[4]

    def send(self, frames):
        for frame in frames:
            try:
                self.socket.send(base64.b64decode(frame))
            except OSError:
                pass  # the device itself will not take it

    def hear(self, seconds):
        end, heard = time.monotonic() + seconds, []
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                frame, address = self.socket.recvfrom(65535)
            except TimeoutError:
                break
            if address[2] != socket.PACKET_OUTGOING:
                heard.append(base64.b64encode(frame).decode())
        return heard


def on_link(request):
    """"send": frames, or "hear": seconds. The device is opened when it is first asked for."""
    global link
    if link is None:
        link = Link(next(name for _, name in socket.if_nameindex() if name != "lo"))
    if "send" in request:
        link.send(request["send"])
    heard = link.hear(request["hear"]) if "hear" in request else []
    say({"number": request["number"], "own": base64.b64encode(link.own).decode(), "heard": heard})


link = None
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
    if "link" in message:
        on_link(message["link"])
        continue
    threading.Thread(target=run, args=(message,), daemon=True).start()
for child in running.values():
    if child.poll() is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
os._exit(0)
