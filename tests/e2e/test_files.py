# SPDX-License-Identifier: Apache-2.0
"""The file system of a sandbox: the system read-only, the working directory, nothing of the person."""

import pytest

from internet.machine import HOME, SECRET

BOTH = pytest.mark.parametrize("person", ["dev", "root"])


@BOTH
def test_the_persons_keys_and_dot_files_are_not_there(sandgate, person):
    box = sandgate.box("--net", "deny", "--as-root")
    for path in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".git-credentials",
                 ".bash_history"):
        got = box.run(f"cat {HOME[person]}/{path} ~/{path} /proc/1/root{HOME[person]}/{path}")
        assert SECRET not in got.out, path
    found = box.run(f"grep -rs {SECRET} /home /root /run /tmp 2>/dev/null").out
    assert SECRET not in found


@BOTH
def test_the_system_is_read_only(sandgate, person):
    box = sandgate.box("--net", "deny", "--as-root")
    for path in ("/usr/bin/made", "/etc/made", "/made", "/lib/made", "/var/made", "/opt/made",
                 "/boot/made", "/sys/made", "/proc/made"):
        assert not box.run(f"touch {path}").ok, path
    assert not sandgate.world.machine.exists("/usr/bin/made")
    assert not box.run("mount -o remount,rw / || mount -o remount,rw,bind /usr").ok


def test_home_tmp_and_run_are_private(sandgate):
    machine = sandgate.world.machine
    machine.write("/run/host-file", "of the host")
    box = sandgate.box("--net", "deny")
    assert box.run("cat /run/host-file; cat /run/user/1000/*").out == ""
    assert box.run("touch ~/mine /tmp/sandgate-e2e-mine && ls ~/mine").ok
    assert not machine.exists("/tmp/sandgate-e2e-mine")
    assert not machine.exists(f"{HOME[sandgate.person]}/mine")


def test_rw_ro_and_hide(sandgate):
    machine = sandgate.world.machine
    shared, fixed = machine.new_work(), machine.new_work()
    work = machine.new_work()
    machine.write(f"{fixed}/text", "read me\n", "dev")
    machine.write(f"{work}/hidden", "do not read me\n", "dev")
    machine.run(f"mkdir {work}/dir && echo secret > {work}/dir/file")
    done = sandgate.run(
        "--net", "deny", "--rw", shared, "--ro", fixed, "--hide", f"{work}/hidden",
        "--hide", f"{work}/dir", cwd=work,
        command=f"echo out > {shared}/made; cat {fixed}/text; touch {fixed}/x || echo kept;"
                "cat hidden dir/file; true")
    assert machine.read(f"{shared}/made") == "out\n"
    assert done.out == "read me\nkept\n", done
    assert not machine.exists(f"{fixed}/x")


@pytest.mark.parametrize("option", ["--rw", "--ro"])
def test_a_directory_that_is_not_there_is_an_error(sandgate, option):
    done = sandgate.run("--net", "deny", option, "/no/such/dir", command="true")
    assert done.status in (2, 125) and "/no/such/dir" in done.err and done.out == ""


@BOTH
def test_what_runs_later_outside_is_read_only_in_the_working_directory(sandgate, person):
    """`.git/hooks`, shell start-up files, sandgate.yaml and CI configuration cannot be changed."""
    machine = sandgate.world.machine
    work = machine.new_work(person)
    machine.run("git init -q . && mkdir -p .github/workflows && touch .github/workflows/ci.yml "
                ".gitlab-ci.yml sandgate.yaml .bashrc .envrc .git/hooks/pre-commit", person=person,
                cwd=work)
    box = sandgate.box("--net", "deny", "--as-root", "--no-project", cwd=work)
    for path in (".git/hooks/pre-commit", ".git/hooks/new", "sandgate.yaml", ".bashrc",
                 ".github/workflows/ci.yml", ".gitlab-ci.yml"):
        got = box.run(f"echo changed >> {path}")
        assert not got.ok, f"{path} was written"
        assert not box.run(f"rm -f {path} && test ! -e {path}").ok or path.endswith("/new")
    box.run("mv .git moved; mkdir -p .git/hooks; echo changed > .git/hooks/pre-commit")
    assert "changed" not in machine.run("cat .git/hooks/pre-commit", person="root", cwd=work).stdout
    assert box.run("git status && touch file && git add file").ok


def test_another_configuration_of_git_is_told(sandgate):
    """`.git/commondir` and `config.worktree` stand in for the configuration that is read-only."""
    machine = sandgate.world.machine
    work = machine.new_work()
    machine.run("git init -q . && git config extensions.worktreeConfig true && touch .git/config.worktree",
                cwd=work)
    done = sandgate.run("--net", "deny", cwd=work, command=(
        "cp -r .git evil; git config -f evil/config core.fsmonitor 'touch owned;false';"
        "echo ../evil > .git/commondir; echo >> .git/config.worktree"))
    assert "made .git/commondir" in done.err, done
    assert "Read-only" in done.err and machine.read(f"{work}/.git/config.worktree") == ""


def test_git_works_in_the_working_directory(sandgate):
    machine = sandgate.world.machine
    work = machine.new_work()
    machine.run("git init -q .", cwd=work)
    done = sandgate.run("--net", "deny", cwd=work, command=(
        "echo a > a && git add a && git -c user.name=x -c user.email=x@example.com commit -qm x "
        "&& git log --oneline | wc -l"))
    assert done.out == "1\n", done


def test_devices_are_few_and_work(sandgate):
    done = sandgate.run("--net", "deny", command=(
        "echo x > /dev/null; head -c 4 /dev/urandom | wc -c; ls /dev; echo shm > /dev/shm/x"))
    assert done.out.startswith("4\n")
    listed = done.out.split()[1:]
    for device in ("kvm", "net", "mem", "vda", "sda", "kmsg", "vsock", "fuse", "loop0"):
        assert device not in listed


def test_temporary_files_may_be_large(sandgate):
    assert sandgate.run("--net", "deny", command="head -c 50M /dev/zero > /tmp/f && rm /tmp/f").ok


@pytest.mark.parametrize("folder", ["/", "/home", "/home/dev", "/etc", "/usr/bin", "/tmp", "/run/user/1000", "/proc"])
def test_starting_where_no_project_is_shares_nothing(sandgate, folder):
    """The home folder and the system's are not a project: said, and not shared for writing."""
    done = sandgate.run("--net", "deny", cwd=folder, command=(
        "cat /home/dev/.ssh/id_ed25519 /home/dev/.netrc 2>/dev/null; touch sandgate-was-here; ls -a; exit 4"))
    assert done.status == 4 and SECRET not in done.out
    assert folder in done.err and "not shared" in done.err, done
    assert not sandgate.world.machine.exists(f"{folder}/sandgate-was-here")


def test_links_planted_in_the_working_directory_lead_nowhere(sandgate):
    """What an earlier sandbox left: links from protected names to the person's secrets."""
    machine = sandgate.world.machine
    work = machine.new_work()
    machine.run("ln -s ~/.aws/credentials .bashrc; ln -s ~/.ssh .github; mkdir .git; ln -s ~/.ssh .git/hooks;"
                "ln -s ~/.netrc sandgate.yaml; ln -s ~/.ssh/id_ed25519 .gitlab-ci.yml; ln -s /home/dev up;"
                "ln -s / root", cwd=work)
    done = sandgate.run("--net", "deny", cwd=work, command=(
        "cat .bashrc .github/* .git/hooks/* sandgate.yaml .gitlab-ci.yml up/.netrc root/home/dev/.netrc"))
    assert SECRET not in done.out
    done = sandgate.run("--net", "deny", "--rw", f"{work}/up", "--ro", f"{work}/.github", cwd=work,
                        command="cat .bashrc .netrc up/.netrc; true")
    assert done.status in (0, 125, 2)
    assert machine.read("/home/dev/.netrc").strip() == SECRET


def test_a_policy_in_the_project_is_not_taken_unasked(world, sandgate):
    """An agent that may write the project must not be able to widen its own policy."""
    site = world.site("api.example.com")
    work = world.machine.new_work()
    world.machine.write(f"{work}/sandgate.yaml", "network: any\n", "dev")
    done = sandgate.run(cwd=work, command=f"curl -sS -m5 http://{site.address}/")
    assert done.status == 2 and "sandgate.yaml" in done.err and site.connections == [], done
