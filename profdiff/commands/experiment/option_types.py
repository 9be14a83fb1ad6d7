"""What the values of an experiment's options are, as click reads them."""

import re

import click

from profdiff.collectors import registry
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, named


class Memory(click.ParamType[int]):
    """MiB, or with a suffix: 512, 512M, 2G."""

    name = "size"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d{1,7})([MG]?)(iB|B)?", str(value), re.IGNORECASE)
        if not match:
            self.fail(f"{value!r} is not a size: write 512M or 2G", param, ctx)
        mebibytes = int(match[1]) * (1024 if match[2].upper() == "G" else 1)
        if mebibytes < 64:
            self.fail("a guest needs at least 64M", param, ctx)
        return mebibytes


class Collectors(click.ParamType[list[str]]):
    """Names of collectors, separated by commas."""

    name = "collectors"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        names = value if isinstance(value, list) else str(value).split(",")
        known = registry.recording()
        if unknown := [name for name in names if name not in known]:
            self.fail(f"{unknown[0]!r} is not a collector ({', '.join(known)})", param, ctx)
        return names


class Names(click.ParamType[list[Architecture]]):
    """Names of architectures, separated by commas."""

    name = "architectures"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[Architecture]:
        names = str(value).split(",") if not isinstance(value, list) else value
        known = {name: named(name) for name in names}
        for name, one in known.items():
            if one is None:
                every = ", ".join(one.arch for one in ARCHITECTURES)
                self.fail(f"{name!r} is not an architecture ({every})", param, ctx)
        return list(dict.fromkeys(one for one in known.values() if one))


class Compilers(click.ParamType[list[str]]):
    """Names of compilers, separated by commas."""

    name = "compilers"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        from profdiff.session.kinds import is_compiler

        names = str(value).split(",") if not isinstance(value, list) else value
        for name in names:
            if not is_compiler(name):
                self.fail(f"{name!r}: name a compiler as PATH has it: gcc-14", param, ctx)
        return list(dict.fromkeys(names))


class Cpus(click.ParamType[list[int]]):
    """Numbers of vCPUs, separated by commas."""

    name = "cpus"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        if isinstance(value, list):
            return value
        numbers = [
            int(part) for part in str(value).split(",") if part.isdecimal() and len(part) < 4
        ]
        if len(numbers) != len(str(value).split(",")) or not all(0 < n < 256 for n in numbers):
            self.fail(f"{value!r}: write numbers from 1 to 255, separated by commas", param, ctx)
        return list(dict.fromkeys(numbers))
