"""The one exception root. ``profdiff.cli.main`` catches it, prints one line and exits with 2."""


class ProfdiffError(Exception):
    """What went wrong and what to do, in one line for a person."""


class InputError(ProfdiffError):
    """An argument or an input file cannot be used as given."""


class MissingError(ProfdiffError):
    """This machine lacks something that is needed: a program, a feature, room on the disk."""


class RunError(ProfdiffError):
    """A run did not give a result: the guest or the workload failed."""


class SessionError(ProfdiffError):
    """A session folder is missing, damaged, hostile, or of a newer schema."""
