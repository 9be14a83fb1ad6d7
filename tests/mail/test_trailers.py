"""Trailers and regzbot's commands: the documented forms pass, everything else is named."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.base.errors import InputError
from profdiff.mail.recipients import NAMES, regzbot, regzbot_commands, trailer

# From Documentation/process/submitting-patches.rst and handling-regressions.rst.
GOOD = [
    (
        "Fixes",
        '54a4f0239f2e ("KVM: MMU: make kvm_mmu_zap_page() return the number of pages it '
        'actually freed")',
    ),
    ("Fixes", f'{"0" * 40} ("a")'),
    ("Reported-by", "Some N. Ice Human <some.human@example.com>"),
    ("Cc", "stable@vger.kernel.org"),
    ("Closes", "https://bugzilla.kernel.org/show_bug.cgi?id=1234567890"),
    ("Link", "https://lore.kernel.org/r/30th.anniversary.repost@klaava.Helsinki.FI/"),
    ("Link", "https://example.com/somewhere.html  optional-other-stuff"),
]
BAD = [
    ("Fixes", '54a4f0239f2 ("eleven digits")'),
    ("Fixes", '54A4F0239F2E ("capitals")'),
    ("Fixes", "54a4f0239f2e (no quotes)"),
    ("Fixes", "54a4f0239f2e"),
    ("Fixes", '54a4f0239f2e ("")'),
    ("Fixes", '54a4f0239f2e ("two\nlines")'),
    ("Reported-by", "Some N. Ice Human some.human@example.com"),
    ("Reported-by", "Some Human"),
    ("Reported-by", "a@example.org, b@example.org"),
    ("Reported-by", "Some Human <some.human@...>"),
    ("Cc", "a@example.org\nCc: b@example.org"),
    ("Closes", "lore.kernel.org/r/a@b/"),
    ("Closes", "ftp://lore.kernel.org/r/a@b/"),
    ("Closes", "https:///r/a@b/"),
    ("Link", "https://<lore.kernel.org>/r/"),
    ("Link", ""),
    ("Link", f"https://example.com/{'x' * 1000}"),
]
LORE = "https://lore.kernel.org/lkml/30th.anniversary.repost@klaava.Helsinki.FI/"
COMMANDS = [
    ("introduced: v5.13..v5.14-rc1", "introduced: v5.13..v5.14-rc1"),
    ("#regzbot introduced 1f2e3d4c5b6a", "introduced: 1f2e3d4c5b6a"),
    ("^introduced: 1f2e3d4c5b6a..2f2e3d4c5b6a", "^introduced: 1f2e3d4c5b6a..2f2e3d4c5b6a"),
    ("introduced: next-20261120", "introduced: next-20261120"),
    ("title: mm: mprotect() got slower", "title: mm: mprotect() got slower"),
    ("monitor: https://bugzilla.kernel.org/1", "monitor: https://bugzilla.kernel.org/1"),
    ("from: Some N. Ice Human <a@example.com>", "from: Some N. Ice Human <a@example.com>"),
    ("fixed-by: 1f2e3d4c5d", "fixed-by: 1f2e3d4c5d"),
    # docs/reference.md of kernelci/regzbot, "Interacting with regzbot".
    ("introduced: v5.13..1f2e3d4c5d", "introduced: v5.13..1f2e3d4c5d"),
    ("introduced: next-20211006..next-20211008", "introduced: next-20211006..next-20211008"),
    ("introduced: v5.13.8..v5.14-rc1", "introduced: v5.13.8..v5.14-rc1"),
    ("introduced: 1f2e3d4c ^", "introduced: 1f2e3d4c ^"),
    (f"introduced: 1f2e3d4c {LORE}", f"introduced: 1f2e3d4c {LORE}"),
    (f"dup: {LORE}", f"dup: {LORE}"),
    (f"dup-of: {LORE}", f"dup-of: {LORE}"),
    (f"link: {LORE} the review of the fix", f"link: {LORE} the review of the fix"),
    (f"monitor: {LORE} a fix", f"monitor: {LORE} a fix"),
    (f"unlink: {LORE}", f"unlink: {LORE}"),
    (f"unmonitor: {LORE}", f"unmonitor: {LORE}"),
    ("fix: mm: do less in change_pte_range()", "fix: mm: do less in change_pte_range()"),
    ("fix: 1f2e3d4c", "fix: 1f2e3d4c"),
    ("inconclusive: nobody can reproduce it", "inconclusive: nobody can reproduce it"),
    ("inconclusive", "inconclusive"),
    ("resolve: intended", "resolve: intended"),
    ("backburner: not urgent", "backburner: not urgent"),
    ("unbackburn", "unbackburn"),
    ("activity-ignore", "activity-ignore"),
    ("poke", "poke"),
]
NO_COMMANDS = [
    ("introduced", "a value is missing"),
    ("introduced: 1f2e3d4", "neither a commit"),
    ("introduced: v6.17 ^ and more", "neither a commit"),
    ("introduced: v6.17 https://nowhere", "not a URL"),
    ("fix", "a value is missing"),
    ("poke: now", "it takes no value"),
    (f"dup: {LORE} why", "where nothing is allowed"),
    ("introduced: yesterday", "neither a commit"),
    ("introduced: v6.16...v6.17", "neither a commit"),
    ("introduce: v6.17", "'introduce' is not a regzbot command: introduced"),
    ("link: example.org", "not a URL"),
    ("unmonitor: https://example.org/ and more", "where nothing is allowed"),
    ("from: nobody", "not an address"),
    ("title: a\n\n#regzbot invalid: b", "not one line"),
    ("", "not one line"),
]


@pytest.mark.parametrize(("name", "value"), GOOD)
def test_documented_forms_pass_as_they_are(name: str, value: str) -> None:
    assert trailer(name, value) == f"{name}: {value}"
    assert trailer(name, f" {name}: {value} ") == f"{name}: {value}"


@pytest.mark.parametrize(("name", "value"), BAD)
def test_others_are_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(InputError, match=f"^--{name.lower()}: "):
        trailer(name, value)


@pytest.mark.parametrize(("text", "line"), COMMANDS)
def test_documented_commands_pass(text: str, line: str) -> None:
    assert regzbot(text) == f"#regzbot {line}"


@pytest.mark.parametrize(("text", "said"), NO_COMMANDS)
def test_other_commands_are_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=f"^--regzbot.*{re.escape(said)}"):
        regzbot(text)


def test_introduced_is_the_first_of_several() -> None:
    made = regzbot_commands(["title: x", "introduced: v6.17"], is_reply=False)
    assert made == ["#regzbot introduced: v6.17", "#regzbot title: x"]
    with pytest.raises(InputError, match="name the thread with --thread"):
        regzbot_commands(["introduced: v6.17 ^"], is_reply=False)


@given(st.sampled_from(NAMES), st.sampled_from(GOOD), st.text(max_size=20), st.integers(0, 80))
def test_a_trailer_is_one_line_or_none(
    name: str, good: tuple[str, str], noise: str, place: int
) -> None:
    value = good[1][:place] + noise + good[1][place:]
    for made in (trailer, lambda _, text: regzbot(f"title: {text}")):
        try:
            line = made(name, value)
        except InputError as error:
            assert len(str(error).splitlines()) == 1
            continue
        assert len(line.splitlines()) == 1
        assert line.isprintable()
