"""What setup.cfg cannot say: a wheel brings the guest's agent, so that who records from it needs no
compiler."""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

_COMPILE = """
import sys
from pathlib import Path
from profdiff.base.errors import ProfdiffError
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.guest.agent import compile_agent
for one in ARCHITECTURES:
    try:
        compile_agent(Path(sys.argv[1], f"agent-{one.name}"), one)
    except ProfdiffError as error:
        print(f"{one.told}'s agent is left out, the first recording compiles it: {error}")
"""


class _BuildPy(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib, "profdiff/collectors/guest").absolute()
        # The modules as they are installed: an unpacked sdist has them in other places.
        environment = {**os.environ, "PYTHONPATH": str(Path(self.build_lib).absolute())}
        command = [sys.executable, "-P", "-c", _COMPILE, folder]
        subprocess.run(command, env=environment, check=False)


setup(cmdclass={"build_py": _BuildPy})
