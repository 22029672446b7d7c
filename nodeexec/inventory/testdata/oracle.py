"""Asks Ansible and Python themselves. Reads one JSON object on stdin, writes one.

Each inventory is handled in a fork of this process by the very code of
ansible-inventory and ansible, so that Ansible is imported once.
"""
import json
import os
import shlex
import sys
import tempfile

import yaml


def plain(value):
    """The value, and False where JSON cannot hold it as it is."""
    if isinstance(value, (set, bytes, complex)) or value is Ellipsis:
        return False
    if isinstance(value, (list, tuple)):
        return all(plain(v) for v in value)
    if isinstance(value, dict):
        return all(plain(k) and plain(v) for k, v in value.items())
    return True


def read_yaml(text):
    try:
        value = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError):
        return {"error": True}
    if type(value).__name__ in ("date", "datetime"):
        return {"type": type(value).__name__, "text": str(value)}
    if not plain(value):
        return {"type": "opaque"}
    return {"value": json.dumps(value), "text": str(value)}


def read_literal(text):
    from ansible.plugins.inventory.ini import InventoryModule

    try:
        value = InventoryModule._parse_value(text)
    except Exception:  # Ansible lets some of Python's errors through
        return {"error": True}
    if not plain(value):
        return {"type": "opaque"}
    return {"value": json.dumps(value)}


def read_shlex(text):
    def split(comments):
        try:
            return shlex.split(text, comments=comments)
        except ValueError:
            return None

    return {"words": split(False), "commented": split(True)}


def in_child(work, timeout=120):
    """Runs work in a fork with its output in a file; returns exit code and text."""
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as err:
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                os.dup2(out.fileno(), 1)
                os.dup2(err.fileno(), 2)
                code = work() or 0
            except SystemExit as e:
                code = e.code if isinstance(e.code, int) else 1
            except BaseException as e:  # reported to the caller
                sys.stderr.write("%s: %s\n" % (type(e).__name__, e))
                code = 71
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        out.seek(0)
        err.seek(0)
        return os.waitstatus_to_exitcode(status), out.read().decode(), err.read().decode()


def ask_inventory(path, patterns, argv, no_list):
    from ansible.cli.adhoc import AdHocCLI
    from ansible.cli.inventory import InventoryCLI
    from ansible.inventory.manager import InventoryManager
    from ansible.parsing.dataloader import DataLoader

    answer = {}
    if not no_list:
        code, out, err = in_child(lambda: InventoryCLI(["ansible-inventory", "-i", path, "--list"]).run())
        answer["list_rc"], answer["list_err"] = code, err
        answer["list"] = json.loads(out) if code == 0 else None

    def select():
        manager = InventoryManager(loader=DataLoader(), sources=[path])
        found = {}
        for pattern in patterns:
            try:
                found[pattern] = [h.name for h in manager.get_hosts(pattern)]
            except Exception:
                found[pattern] = None
        sys.stdout.write(json.dumps(found))

    if patterns:
        code, out, err = in_child(select)
        answer["selected"] = json.loads(out) if code == 0 else None

    if argv:
        record = tempfile.mkdtemp()
        os.environ["FAKE_SSH_RECORD"] = record
        code, out, err = in_child(
            lambda: AdHocCLI(["ansible", "all", "-i", path, "-f", "4", "-m", "raw", "-a", "true {{ inventory_hostname }}"]).run()
        )
        answer["run_out"] = out[-4000:] + err[-2000:]
        answer["argv"] = {}
        for name in os.listdir(record):
            with open(os.path.join(record, name), "rb") as f:
                words = [w.decode() for w in f.read().split(b"\0")[:-1]]
            os.unlink(os.path.join(record, name))
            answer["argv"][words[-1].split(" ", 1)[1]] = words
        os.rmdir(record)
    return answer


def main():
    asked = json.load(sys.stdin)
    answers = {
        "yaml": [read_yaml(t) for t in asked.get("yaml") or []],
        "literal": [read_literal(t) for t in asked.get("literal") or []],
        "shlex": [read_shlex(t) for t in asked.get("shlex") or []],
        "inventories": [ask_inventory(i["path"], i.get("patterns") or [], i.get("argv"), i.get("no_list")) for i in asked.get("inventories") or []],
    }
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
