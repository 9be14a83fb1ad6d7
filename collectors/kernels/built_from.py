"""What a kernel was built from, in the words of the session's manifest."""

import msgspec

from profdiff.collectors.records import Commit, Part, Text


class BuiltFrom(Part, frozen=True):
    """``repository``: the folder, absolute and without links. ``commit``: of the revision, or
    of a work tree its HEAD; ``described``: what ``git describe`` calls it. ``built``: the commit
    that was really built, which is ``commit`` or was made of it with the changes; ``tree``: its
    tree. ``dirty``: of a work tree with changes that nobody committed. ``patches``: file names and
    subjects; ``reverted``: commits. ``config``: where the config is from. ``compiler``: the first
    line that it says of its version. ``lost``: options that are not as the config asked for them,
    ``CONFIG_X=y``: the source does not have them so."""

    repository: Text
    commit: Commit
    described: Text
    subject: Text
    tree: Commit
    built: Commit
    dirty: bool = False
    patches: list[Text] = msgspec.field(default_factory=list)
    reverted: list[Commit] = msgspec.field(default_factory=list)
    config: Text = ""
    compiler: Text = ""
    arch: Text = ""
    lost: list[Text] = msgspec.field(default_factory=list)
