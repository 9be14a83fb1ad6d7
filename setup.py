"""What setup.cfg cannot say: a source archive holds what git has, and a wheel brings the static
programs, so that who records from it needs no compiler."""

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

_COMPILE = """
from profdiff.base.errors import ProfdiffError
from profdiff.collectors.calibration import CALIBRATE
from profdiff.collectors.guest.agent import AGENT
for program in (AGENT, CALIBRATE):
    for architecture in program.architectures:
        try:
            program.compile(program.place(architecture), architecture)
        except ProfdiffError as error:
            told = f"{program.told} for {architecture.told}"
            print(f"{told} is left out, the first use compiles it: {error}")
"""
# All that git has here or would take.
_LISTED = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")


class _BuildPy(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return
        # The modules as they are installed.
        environment = {**os.environ, "PYTHONPATH": str(Path(self.build_lib).absolute())}
        # Byte code that they leave would go into the wheel.
        command = [sys.executable, "-B", "-P", "-c", _COMPILE]
        subprocess.run(command, env=environment, check=False)


class _Sdist(sdist):
    def make_release_tree(self, base_dir, files):
        listed = subprocess.run(_LISTED, stdout=subprocess.PIPE, text=True, check=True).stdout
        files = [*filter(None, listed.split("\0")), *map(str, Path("man").glob("*.1"))]
        super().make_release_tree(base_dir, [file for file in files if Path(file).is_file()])
        # Links to folders, by which packages are found.
        for link in filter(Path.is_symlink, map(Path, files)):
            copy = Path(base_dir, link)
            copy.unlink(missing_ok=True)
            shutil.copy(link, copy, follow_symlinks=False)

    def make_archive(self, base_name, *_format, base_dir, **_owner):
        """The same files give the same bytes, whoever has them, wherever and since when."""
        date = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))

        def same(member):
            member.mtime, member.uid, member.gid, member.uname, member.gname = date, 0, 0, "", ""
            # As git has them.
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            return member

        # Its members are sorted; no name of a file is in the head of gzip's.
        made = Path(f"{base_name}.tar.gz")
        with (
            made.open("wb") as file,
            gzip.GzipFile("", "wb", mtime=date, fileobj=file) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=same)
        return str(made)


setup(cmdclass={"build_py": _BuildPy, "sdist": _Sdist})
