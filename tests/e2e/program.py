# SPDX-License-Identifier: Apache-2.0
"""The program under test, used through its command line alone."""

import base64
import fcntl
import itertools
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SANITIZED = os.environ.get("SANDGATE_SANITIZED") == "1"
# Deadlines are for machines under load; what must be quick is asserted on its own.
HANGS = 60
# A refusal comes long before the second after which a SYN, or a question, is sent again.
AT_ONCE = 0.9
# Of names: those of sandboxes that are kept are not used again.
_numbers = itertools.count(1)


# A program for java(1) that prints what is at a URL.
JAVA_FETCH = """
import java.net.http.*; import java.net.*;
public class Fetch { public static void main(String[] a) throws Exception {
  var c = HttpClient.newHttpClient();
  System.out.println(c.send(HttpRequest.newBuilder(URI.create(a[0])).build(),
                            HttpResponse.BodyHandlers.ofString()).body()); } }
"""


def _source(name):
    with open(os.path.join(HERE, "inside", name), encoding="utf-8") as f:
        return f.read()


class Result:
    """How a command ended."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds

    @property
    def ok(self):
        return self.status == 0

    @property
    def first_line(self):
        return self.err.split("\n", 1)[0]

    @property
    def json(self):
        """The last line of the output, as JSON."""
        assert self.out.strip(), self
        return json.loads(self.out.strip().rsplit("\n", 1)[-1])

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines() if line.strip()]

    def __repr__(self):
        return (f"status {self.status} after {self.seconds:.2f} s\n--- out\n{self.out[-3000:]}\n"
                f"--- err\n{self.err[-3000:]}")


def _bubblewrap(world, path):
    from engines.bwrap import Bwrap  # which is made of what is here
    return Bwrap(world, path)


class Sandgate:
    """Runs `sandgate` on the machine as a person."""

    def __init__(self, world, path, person, engine=None):
        self.world, self.path, self.person = world, path, person
        self.engine = engine or _bubblewrap(world, path)  # of engines/: what a box is
        self._open = []

    def as_person(self, person):
        """As another one, whose sandboxes end with this one's."""
        if person == self.person:
            return self
        other = Sandgate(self.world, self.path, person, self.engine)
        other._open = self._open
        return other

    def new_name(self):
        return f"t{os.getpid()}-{next(_numbers)}"

    def __call__(self, *argv, timeout=HANGS, cwd=None, input=None, env=None, **options):
        """`sandgate ARGV` to its end."""
        started = time.monotonic()
        done = self.world.machine.run([self.path, *argv], person=self.person, timeout=timeout,
                                      cwd=cwd or self.world.machine.new_work(self.person),
                                      input=input, env=env, **options)
        return Result(done.returncode, done.stdout, done.stderr, time.monotonic() - started)

    def run(self, *options, command, **more):
        """`sandgate run OPTIONS -- COMMAND`; a text is given to sh."""
        if isinstance(command, str):
            command = ["sh", "-c", command]
        return self("run", *options, "--", *command, **more)

    def json(self, *argv):
        """What `sandgate ARGV --json` prints."""
        done = self(*argv, "--json")
        assert done.ok, done
        return json.loads(done.out)

    def box(self, *options, **more):
        """A sandbox that stays and runs one command after the other, by whatever engine the test has."""
        box = Box(self, options, **more)
        self._open.append(box)
        return box

    def close(self):
        while self._open:
            self._open.pop().close()


class Pending:
    """A command that a Box is running."""

    def __init__(self, box, number):
        self._box, self.number = box, number

    def wait(self, timeout=HANGS):
        return self._box.reply(self.number, timeout)

    def kill(self, number=signal.SIGKILL):
        self._box.send({"kill": self.number, "signal": int(number)})


class Box:
    """A sandbox, with an agent inside that runs what it is told."""

    def __init__(self, sandgate, options, cwd=None, files=None, env=None):
        self.sandgate, self.world, self.engine = sandgate, sandgate.world, sandgate.engine
        machine = self.world.machine
        self.name = sandgate.new_name()
        self.options, self.env = self.engine.accepted(options), env
        self.cwd = cwd or machine.new_work(sandgate.person)
        for path, text in (files or {}).items():
            machine.write(f"{self.cwd}/{path}", text, sandgate.person, 0o600)
        self._replies, self._changed = {}, threading.Condition()
        self._numbers = 0
        self._removed = False
        self._err_lines = []
        self.process = self.engine.start(self, ["python3", "-u", "-c", _source("agent.py")])
        self._err_reader = threading.Thread(target=self._read_err, daemon=True)
        self._err_reader.start()
        threading.Thread(target=self._read_replies, daemon=True).start()
        try:
            self.started = self._await("hello", HANGS)
            self._assert_contained()
        except BaseException:
            self.close()
            raise

    def _assert_contained(self):
        """Before anything is tried inside: it is inside. Some probes would harm the machine."""
        if self.engine.own_kernel:
            return
        for kind in self.engine.namespaces:
            assert ns_of(self.inner_pid, kind) not in (None, ns_of("self", kind)), \
                f"the sandbox shares its {kind} namespace with the machine"

    # The agent's channel.

    def _read_replies(self):
        for line in self.process.stdout:
            try:
                reply = json.loads(line)
            except ValueError:
                continue
            with self._changed:
                self._replies[reply["number"]] = reply
                self._changed.notify_all()
        with self._changed:
            self._replies[None] = None
            self._changed.notify_all()

    def _read_err(self):
        for line in self.process.stderr:
            self._err_lines.append(line.rstrip("\n"))

    def _await(self, number, timeout):
        deadline = time.monotonic() + timeout
        with self._changed:
            while number not in self._replies:
                if None in self._replies:
                    raise AssertionError(f"the sandbox ended: {self.process.wait(HANGS)}\n{self._heard}")
                if not self._changed.wait(max(0, deadline - time.monotonic())):
                    raise AssertionError(f"no answer from inside after {timeout} s\n{self._heard}")
            return self._replies.pop(number)

    def send(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def reply(self, number, timeout):
        reply = self._await(number, timeout)
        return Result(reply["status"], reply["out"], reply["err"], reply["seconds"])

    # Commands inside.

    def start(self, command, input=None, env=None):
        if isinstance(command, str):
            command = ["sh", "-c", command]
        self._numbers += 1
        self.send({"number": self._numbers, "argv": command, "input": input, "env": env})
        return Pending(self, self._numbers)

    def run(self, command, timeout=HANGS, **options):
        return self.start(command, **options).wait(timeout)

    def start_python(self, code, *arguments, **options):
        """Python code inside, after the helpers of inside/probe.py."""
        source = _source("probe.py") + "\n" + code
        return self.start(["python3", "-c", source, *map(str, arguments)], **options)

    def python(self, code, *arguments, timeout=HANGS, **options):
        return self.start_python(code, *arguments, **options).wait(timeout)

    def curl(self, url, *more, timeout=HANGS):
        return self.run(["curl", "-sS", "-m", str(timeout), *more, url])

    def bring(self, name, octets, mode=755):
        """A file into the working directory: an engine may have a file system of its own."""
        data = base64.b64encode(octets).decode()
        got = self.run(["sh", "-c", 'base64 -d >"$0" && chmod "$1" "$0"', name, str(mode)], input=data)
        assert got.ok, got

    def needs(self, *programs):
        """The test is skipped, with the reason, where the engine's own file system has not these."""
        for name in programs:
            if not self.run(f"command -v {name}").ok:
                self.engine.cannot(f"has no {name} in its file system")

    def on_link(self, **what):
        """send=frames, hear=seconds: by the agent, on the sandbox's own link. (own address, frames)."""
        self._numbers += 1
        if "send" in what:
            what["send"] = [base64.b64encode(frame).decode() for frame in what["send"]]
        self.send({"link": {"number": self._numbers, **what}})
        reply = self._await(self._numbers, HANGS)
        return base64.b64decode(reply["own"]), [base64.b64decode(frame) for frame in reply["heard"]]

    # The sandbox from outside.

    @property
    def _heard(self):
        return "\n".join(self._err_lines)

    @property
    def err_lines(self):
        """What the run said on its standard error: all of it when it has ended, else what has been read by now."""
        if not self.engine.says_its_end:
            self.engine.cannot("nobody is told what was refused when it ends")
        if self.process.poll() is not None:
            self._err_reader.join(5)  # all that it said; who holds the pipe after that says nothing of the run
        return self._err_lines

    @property
    def err(self):
        return "\n".join(self.err_lines)

    @property
    def inner_pid(self):
        """A process of the sandbox, as the host numbers it: the agent."""
        if self.engine.own_kernel:
            self.engine.cannot("no process of it is the host's")
        return self.engine.inner_pid(self)

    @property
    def supervisor_pid(self):
        return self.engine.supervisor_pid(self)

    @property
    def gate_pid(self):
        """The process that holds the tun device and lives in the host's network; a tap's is another's."""
        supervisor = self.supervisor_pid
        host = ns_of(supervisor, "net")
        for pid in descendants(supervisor):
            if pid != supervisor and ns_of(pid, "net") == host and holds(pid, "tun") and \
                    read_proc(pid, "comm").strip() != "sandgate-frames":
                return pid
        raise AssertionError("there is no gate")

    def others(self):
        """All processes of this run, as the host numbers them."""
        return descendants(self.process.pid)

    def egress(self):
        return self.sandgate.json("egress", self.name)

    def refused(self):
        return self.egress()["flows"]["refused"]

    def stop(self, timeout=HANGS):
        """Lets the agent end in good order; the run's Ended."""
        started = time.monotonic()
        if self.process.poll() is None:
            try:
                self.send({"quit": True})
            except BrokenPipeError:
                pass
        status, seconds = self.process.wait(timeout), time.monotonic() - started
        self.remove()
        return Ended(self, status, seconds)

    def remove(self):
        """One that was given a name is kept."""
        if not self._removed:
            self._removed = True
            self.engine.end(self)

    def close(self):
        if self.process.poll() is None:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                for pid in [self.process.pid, *descendants(self.process.pid)]:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                self.process.wait(HANGS)
        self.remove()


class Ended(Result):
    """How a box ended; what was said at its end is there where the engine lets somebody hear it."""

    def __init__(self, box, status, seconds):
        self._box, self.status, self.out, self.seconds = box, status, "", seconds

    @property
    def err(self):
        return self._box.err

    def __repr__(self):
        return f"status {self.status} after {self.seconds:.2f} s\n{self._box._heard}"


class Kept:
    """A sandbox that is kept, by its name."""

    def __init__(self, sandgate, name, *options, cwd=None):
        self.sandgate, self.name = sandgate, name
        self.cwd = cwd or sandgate.world.machine.new_work(sandgate.person)
        made = sandgate("create", *options, name, cwd=self.cwd)
        assert made.ok, made

    def start(self):
        done = self.sandgate("start", self.name)
        assert done.ok, done
        return done

    def exec(self, command, *options, **more):
        if isinstance(command, str):
            command = ["sh", "-c", command]
        return self.sandgate("exec", *options, self.name, "--", *command, **more)

    def stop(self, *options):
        done = self.sandgate("stop", *options, self.name)
        assert done.ok, done
        return done

    def row(self):
        return next((r for r in self.sandgate.json("ls") if r["name"] == self.name), None)

    @property
    def supervisor(self):
        """The process that holds the lock of the name."""
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            argv = read_proc(pid, "cmdline").split("\0")
            if argv[1:2] == ["start"] and self.name in argv and "sandgate" in argv[0] and \
                    descendants(pid) != [pid]:
                return pid
        raise AssertionError("no supervisor runs")


class Terminal:
    """`sandgate run` on a terminal of its own."""

    def __init__(self, sandgate, argv, rows=24, columns=80, cwd=None):
        master, slave = pty.openpty()
        self._master = master
        self.output = ""
        self.resize(rows, columns)
        self.process = sandgate.world.machine.popen(
            ["setsid", "--ctty", *argv], sandgate.person,
            cwd=cwd or sandgate.world.machine.new_work(sandgate.person), stdin=slave, stdout=slave,
            stderr=slave)
        os.close(slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self._master, text.encode())

    def expect(self, pattern, timeout=HANGS):
        """Reads until the output since the last match has the pattern; returns the match."""
        deadline = time.monotonic() + timeout
        while True:
            match = re.search(pattern, self.output)
            if match:
                self.output = self.output[match.end():]
                return match
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._master], [], [], left)[0]:
                raise AssertionError(f"no {pattern!r} on the terminal: {self.output!r}")
            try:
                self.output += os.read(self._master, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"the terminal ended: {self.output!r}") from None

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)


# Processes of the host.

def read_proc(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def ns_of(pid, kind):
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None


def holds(pid, text):
    """Whether a process has a descriptor whose target ends with `text`."""
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            if os.readlink(f"/proc/{pid}/fd/{fd}").endswith(text):
                return True
    except OSError:
        pass
    return False


def has_terminal(*argv):
    """Whether there is a process of this command line that runs in the foreground of its terminal."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if read_proc(pid, "cmdline").split("\0")[:-1] == list(argv):
            state, _, group, _, _, foreground = read_proc(pid, "stat").rpartition(")")[2].split()[:6]
            if group == foreground and state != "T":
                return True
    return False


def descendants(pid):
    """The process and all below it, as they are now."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            stat = read_proc(entry, "stat").rpartition(")")[2].split()
            if stat:
                children.setdefault(int(stat[1]), []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += children.get(one, [])
    return found


def curl_refused(result):
    """Whether curl was refused at once: by its own clock, which starts when it does."""
    took = re.search(r"^curl: \(7\) .* after (\d+) ms", result.err, re.MULTILINE)
    return result.status == 7 and took is not None and int(took[1]) < AT_ONCE * 1000


def wait_until(true, timeout=HANGS, what="it"):
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, f"{what} did not come true within {timeout} s"
        time.sleep(0.02)
