"""The program of a container, with a program in Ray's place."""

import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest

MEMBER = pathlib.Path(__file__).parent.parent / "gantry_ray" / "member.py"

# As Ray does: start --block stays when its raylet has ended in order.
RAY = """#!/bin/sh
[ "$1" = start ] || exit 0
echo "$*" >>{folder}/started
{folder}/raylet -c "import time; time.sleep(3)" &
exec sleep 60
"""

GCS = """import pathlib
class GcsClient:
    def __init__(self, address):
        pass
    def internal_kv_get(self, key, namespace):
        mark = pathlib.Path({folder!r}) / (namespace + b"-" + key).decode()
        return mark.read_bytes() if mark.exists() else None
"""


class Member(unittest.TestCase):
    def test_it_joins_again_until_it_is_given_back(self):
        with tempfile.TemporaryDirectory() as name, socket.create_server(("127.0.0.1", 0)) as head:
            folder = pathlib.Path(name)
            (folder / "ray").mkdir()
            (folder / "ray" / "__init__.py").touch()
            (folder / "ray" / "_raylet.py").write_text(GCS.format(folder=name))
            bin = folder / "bin"
            bin.mkdir()
            (bin / "ray").write_text(RAY.format(folder=name))
            (bin / "ray").chmod(0o700)
            (folder / "raylet").symlink_to(sys.executable)
            env = {"PATH": f"{bin}:/usr/bin:/bin", "PYTHONPATH": name, "GANTRY_NODE_RANK": "2", "GANTRY_NODE_IP": "10.77.0.3", "GANTRY_CPUS": "4"}
            port = head.getsockname()[1]
            with subprocess.Popen([sys.executable, MEMBER, f"127.0.0.1:{port}", "--flag"], env=env, stdout=subprocess.PIPE, text=True) as member:
                self.addCleanup(member.kill)
                self.assertEqual(member.stdout.readline().split(" with ")[0], "gantry: Ray has ended on node-2")
                (folder / "gantry-ended:node-2").write_text("1")
                said, _ = member.communicate(timeout=60)
            self.assertIn("gives node-2 back", said)
            self.assertEqual(member.returncode, 0, "a lease of a job that is done ends")
            starts = (folder / "started").read_text().splitlines()
            self.assertEqual(len(starts), 2)
            self.assertEqual(starts[0], f"start --block --address=127.0.0.1:{port} --node-ip-address=10.77.0.3 --num-gpus=0 --num-cpus=4 --flag")

    def test_the_head_waits(self):
        with subprocess.Popen([sys.executable, MEMBER, "node-0:1"], env={**os.environ, "GANTRY_NODE_RANK": "0"}) as member:
            time.sleep(1)
            self.assertIsNone(member.poll())
            member.terminate()
            self.assertEqual(member.wait(10), 0)


if __name__ == "__main__":
    unittest.main()
