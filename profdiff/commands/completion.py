"""``profdiff completion``: scripts with which a shell completes commands, options and values.

A script asks profdiff itself (click's protocol: ``_PROFDIFF_COMPLETE=bash_complete``), and falls
back to file names where profdiff knows nothing. The scripts are ours because click's bash does not
take words apart at ``=`` and ``:``, as bash does, and none of click's falls back.
"""

import os

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from profdiff.base.terminal import say
from profdiff.commands.command import command

_BASH = """\
%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            plain) COMPREPLY+=("$value") ;;
            dir) compopt -o dirnames ;;
        esac
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORD="${COMP_WORDS[COMP_CWORD]}" \\
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    case ${COMPREPLY[0]-} in
        *[/=:]) compopt -o nospace ;;
        *[[:space:]]*) compopt -o filenames ;;
    esac
}
complete -o default -o nosort -F %(complete_func)s %(prog_name)s
"""

_ZSH = """\
#compdef %(prog_name)s
%(complete_func)s() {
    local type value help
    local -a whole open
    COMP_WORDS="${(j: :)words[1,CURRENT]}" COMP_CWORD=$((CURRENT-1)) \\
        %(complete_var)s=zsh_complete $words[1] 2>/dev/null |
    while IFS= read -r type && IFS= read -r value && IFS= read -r help; do
        [[ $type == plain ]] || continue
        case $value in
            *[/=:]) open+=("$value") ;;
            *) whole+=("$value") ;;
        esac
    done
    if (( $#whole + $#open )); then
        compadd -V profdiff -a whole
        compadd -V profdiff -S '' -a open
    else
        _files
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    compdef %(complete_func)s %(prog_name)s
fi
"""

_FISH = """\
function %(complete_func)s
    set -l response (%(complete_var)s=fish_complete COMP_WORDS=(commandline -cp | string collect) \\
        COMP_CWORD=(commandline -ct | string collect) %(prog_name)s 2>/dev/null)
    set -l known (string match --regex --groups-only '^plain,(.*)' -- $response)
    if test (count $known) -gt 0
        printf '%%s\\n' $known
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --no-files --command %(prog_name)s --arguments '(%(complete_func)s)'
"""


class _Bash(BashComplete):
    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)[1:]
        # A blank ends a word, unless it is quoted: then it is part of the last one.
        open_word = bool(words) and (not line[-1:].isspace() or words[-1][-1:].isspace())
        incomplete = words.pop() if open_word else ""
        # What bash takes for the word begins behind the last = or :, unless they are quoted.
        word = os.environ["COMP_WORD"].lstrip("'\"")
        word = "" if not word.strip("=:") else word
        self._before = len(incomplete) - len(word) if incomplete.endswith(word) else 0
        return words, incomplete

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.type},{item.value[self._before :]}"


class _Zsh(ZshComplete):
    source_template = _ZSH

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.type}\n{item.value}\n_"


class _Fish(FishComplete):
    source_template = _FISH


_SHELLS = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def register() -> None:
    """Let click answer our scripts instead of its own."""
    for shell in _SHELLS.values():
        add_completion_class(shell)


@command()
@click.argument("shell", metavar="|".join(_SHELLS), type=click.Choice(list(_SHELLS)))
def completion(shell: str) -> None:
    """Print the script with which a shell completes commands, options, kernels, sessions and
    functions.

    \b
      profdiff completion bash > ~/.local/share/bash-completion/completions/profdiff
      profdiff completion zsh > ~/.zfunc/_profdiff    # fpath+=~/.zfunc, before compinit
      profdiff completion fish > ~/.config/fish/completions/profdiff.fish
    """
    command = click.get_current_context().find_root().command
    say(_SHELLS[shell](command, {}, "profdiff", "_PROFDIFF_COMPLETE").source(), end="")
