#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gen_completions.py COMMANDS.yaml bash|zsh|fish OUT: the completions of one shell.

Sandbox names are the folders that hold a control socket under the runtime folder: a shell waits for
the answer, and looking is quicker than asking each sandbox.
"""

import sys

import commands


def _cases(pairs, indent):
    """Lines of a shell `case` body; pairs of pattern and statement."""
    return "\n".join(f"{indent}{pattern}) {statement} ;;" for pattern, statement in pairs)


# bash

_BASH = """\
# Completion of sandgate for bash. Made from docs/commands.yaml.

_sandgate_sandboxes() {{
\tlocal folders=("${{XDG_RUNTIME_DIR:-/run/user/$EUID}}/sandgate" "/tmp/sandgate-$EUID")
\tlocal folder socket
\t[ "$EUID" = 0 ] && folders=(/run/sandgate)
\tfor folder in "${{folders[@]}}"; do
\t\tfor socket in "$folder"/*/control; do
\t\t\t[ -S "$socket" ] || continue
\t\t\tsocket=${{socket%/control}}
\t\t\techo "${{socket##*/}}"
\t\tdone
\tdone
}}

_sandgate_offer() {{
\tlocal IFS=$' \\t\\n'
\tCOMPREPLY=($(compgen -W "$1" -- "$cur"))
}}

# What an option takes; false when the word before is no such option.
_sandgate_value() {{
\tcase $1 in
{values}
\t*) return 1 ;;
\tesac
}}

# What follows "--" is another program's command line.
_sandgate_other() {{
\tif declare -F _command_offset >/dev/null; then
\t\t_command_offset "$1"
\telif [ "$COMP_CWORD" = "$1" ]; then
\t\tCOMPREPLY=($(compgen -c -- "$cur"))
\telse
\t\tCOMPREPLY=($(compgen -f -- "$cur"))
\tfi
}}

_sandgate() {{
\tlocal cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}
\tlocal first=${{COMP_WORDS[1]}} command i words
\tCOMPREPLY=()
\tif [ "$COMP_CWORD" = 1 ]; then
\t\t_sandgate_offer "{first_words}"
\t\treturn
\tfi
\tcommand=$first
\tcase $first in
{groups}
\tesac
\tcase $command in
\t{takers})
\t\tfor ((i = 2; i < COMP_CWORD; i++)); do
\t\t\t[ "${{COMP_WORDS[i]}}" = -- ] && {{ _sandgate_other $((i + 1)); return; }}
\t\tdone
\t\t;;
\tesac
\tif [ "$cur" = = ]; then
\t\tcur=
\telif [ "$before" = = ]; then
\t\tbefore=${{COMP_WORDS[COMP_CWORD - 2]}}
\tfi
\t_sandgate_value "$command $before" && return
\tcase $command in
{words}
\t*) return ;;
\tesac
\tcase $cur in
\t-*) _sandgate_offer "$words" ;;
\t*)
\t\tcase $command in
{arguments}
\t\tesac
\t\t;;
\tesac
}}

complete -F _sandgate sandgate
"""


def _bash_value(option):
    if option.complete == "file":
        return 'COMPREPLY=($(compgen -f -- "$cur"))'
    if option.complete == "dir":
        return 'COMPREPLY=($(compgen -d -- "$cur"))'
    return f'_sandgate_offer "{" ".join(option.complete or [])}"'


def _bash_arguments(program, command):
    if command.sandbox:
        return '_sandgate_offer "$(_sandgate_sandboxes)"'
    if command.complete == "commands":
        return f'_sandgate_offer "{" ".join(program.first_words())}"'
    if command.complete == "file":
        return 'COMPREPLY=($(compgen -f -- "$cur"))'
    if isinstance(command.complete, list):
        return f'_sandgate_offer "{" ".join(command.complete)}"'
    return None


def _bash_group(program, word):
    seconds = " ".join(c.words[1] for c in program.group(word))
    return (word, f'[ "$COMP_CWORD" = 2 ] && {{ _sandgate_offer "{seconds}"; return; }}; '
                  'command="$first ${COMP_WORDS[2]}"')


def bash(program):
    values = [(f'"{c.name} --{o.name}"', _bash_value(o))
              for c in program.commands for o in c.shown_options if o.value]
    words = [(f'"{c.name}"', f'words="{" ".join(_spellings(c))}"') for c in program.commands]
    arguments = [(f'"{c.name}"', _bash_arguments(program, c)) for c in program.commands]
    return _BASH.format(
        values=_cases(values, "\t"), first_words=" ".join(program.first_words()),
        groups=_cases([_bash_group(program, w) for w in _groups(program)], "\t"),
        takers="|".join(f'"{c.name}"' for c in program.commands if c.takes_command),
        words=_cases(words, "\t"), arguments=_cases([a for a in arguments if a[1]], "\t\t"))


def _groups(program):
    return [w for w in program.first_words() if len(program.group(w)[0].words) > 1]


def _spellings(command):
    ends = ["--"] if command.takes_command else []
    return [f"--{option.name}" for option in command.shown_options] + ["--help"] + ends


# zsh

_ZSH = """\
#compdef sandgate
# Completion of sandgate for zsh. Made from docs/commands.yaml.

_sandgate_sandboxes() {{
\tlocal -a folders=(${{XDG_RUNTIME_DIR:-/run/user/$EUID}}/sandgate /tmp/sandgate-$EUID)
\t(( EUID == 0 )) && folders=(/run/sandgate)
\tlocal -a sandboxes=($^folders/*/control(N=:h:t))
\t_describe 'sandbox' sandboxes
}}

_sandgate_first() {{
\tlocal -a first=(
{first}
\t)
\t_describe 'command' first
}}

_sandgate() {{
\tlocal -a second
\tif (( CURRENT == 2 )); then
\t\t_sandgate_first
\t\treturn
\tfi
\tcase $words[2] in
{groups}
\tesac
\t_sandgate_of "$words[2]"
}}

# The words after those of the command, which is $1.
_sandgate_of() {{
\tlocal end
\tcase $1 in
{commands}
\tesac
}}

_sandgate "$@"
"""

_ZSH_GROUP = """\
\t{word})
\t\tif (( CURRENT == 3 )); then
\t\t\tsecond=({seconds})
\t\t\t_describe 'command' second
\t\t\treturn
\t\tfi
\t\tlocal name="$words[2] $words[3]"
\t\tshift words; (( CURRENT-- ))
\t\t_sandgate_of "$name"
\t\treturn
\t\t;;"""

_ZSH_TAKER = """\
\t\tend=${words[(i)--]}
\t\tif (( end < CURRENT )); then
\t\t\tshift $end words; (( CURRENT -= end ))
\t\t\t_normal
\t\t\treturn
\t\tfi
"""


def _zsh_quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def _zsh_described(words):
    return " ".join(_zsh_quoted(f"{word}:{summary}") for word, summary in words)


def _zsh_summary(option):
    first = option.help.split(". ")[0].replace("\n", " ").rstrip(".")
    return first.replace("[", "\\[").replace("]", "\\]").replace(":", "\\:").replace("`", "")


def _zsh_action(option):
    if option.complete == "file":
        return "_files"
    if option.complete == "dir":
        return "_files -/"
    return f"({' '.join(option.complete)})" if option.complete else " "


def _zsh_option(option):
    many = "*" if option.many else ""
    if not option.value:
        return f"{many}--{option.name}[{_zsh_summary(option)}]"
    value = option.value.replace(":", "\\:")
    return f"{many}--{option.name}=[{_zsh_summary(option)}]:{value}:{_zsh_action(option)}"


def _zsh_command(command):
    specs = [_zsh_option(option) for option in command.shown_options] + ["--help[show the help]"]
    if command.sandbox:
        specs.append("1:sandbox:_sandgate_sandboxes")
    elif command.complete == "commands":
        specs.append("1:command:_sandgate_first")
    elif command.complete == "file":
        specs.append("1:file:_files")
    elif isinstance(command.complete, list):
        specs.append(f"1:word:({' '.join(command.complete)})")
    taker = _ZSH_TAKER if command.takes_command else ""
    listed = " \\\n\t\t\t".join(_zsh_quoted(spec) for spec in specs)
    return (f"\t'{command.name}')\n{taker}\t\tshift words; (( CURRENT-- ))\n"
            f"\t\t_arguments -s \\\n\t\t\t{listed}\n\t\t;;")


def _zsh_first(program):
    out = []
    for word in program.first_words():
        group = program.group(word)
        page = program.pages.get(f"sandgate-{word}", {})
        out.append((word, page.get("summary", group[0].summary)))
    return out


def zsh(program):
    groups = [_ZSH_GROUP.format(word=word, seconds=_zsh_described(
        (c.words[1], c.summary) for c in program.group(word))) for word in _groups(program)]
    first = "\n".join("\t\t" + _zsh_described([pair]) for pair in _zsh_first(program))
    return _ZSH.format(first=first, groups="\n".join(groups),
                       commands="\n".join(_zsh_command(c) for c in program.commands))


# fish

_FISH = """\
# Completion of sandgate for fish. Made from docs/commands.yaml.

function __sandgate_sandboxes
\tset -l id (id -u)
\tset -l folders $XDG_RUNTIME_DIR/sandgate /run/user/$id/sandgate /tmp/sandgate-$id
\ttest $id = 0; and set folders /run/sandgate
\tfor socket in $folders/*/control
\t\tstring replace -r '.*/([^/]*)/control$' '$1' $socket
\tend
end

# True when the words so far are those of the command, and "--" is not among them.
function __sandgate_in
\tset -l words (commandline -opc)
\tcontains -- -- $words; and return 1
\ttest (count $words) -gt (count $argv); or return 1
\ttest "$words[2.."(math (count $argv) + 1)"]" = "$argv"
end

function __sandgate_at
\ttest (count (commandline -opc)) = (math (count $argv) + 1); and __sandgate_in $argv
end

function __sandgate_after_dashes
\tcontains -- -- (commandline -opc)
end

complete -c sandgate -f
complete -c sandgate -n __sandgate_after_dashes -a '(__fish_complete_subcommand --fcs-skip=(contains -i -- -- (commandline -opc)))'
complete -c sandgate -n 'test (count (commandline -opc)) = 1' -s h -l help -d 'show the help'
"""


def _fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish_option(command, option):
    line = (f"complete -c sandgate -n '__sandgate_in {command.name}' -l {option.name} "
            f"-d {_fish_quoted(_zsh_summary(option).replace(chr(92), ''))}")
    if not option.value:
        return line
    if option.complete in ("file", "dir"):
        return line + " -rF"
    return line + (f" -xa {_fish_quoted(' '.join(option.complete))}" if option.complete else " -x")


def _fish_command(program, command):
    out = [_fish_option(command, option) for option in command.shown_options]
    out.append(f"complete -c sandgate -n '__sandgate_in {command.name}' -s h -l help "
               "-d 'show the help'")
    at = f"complete -c sandgate -n '__sandgate_in {command.name}'"
    if command.sandbox:
        out.append(f"{at} -a '(__sandgate_sandboxes)'")
    elif command.complete == "commands":
        out.append(f"{at} -a {_fish_quoted(' '.join(program.first_words()))}")
    elif command.complete == "file":
        out.append(f"{at} -F")
    elif isinstance(command.complete, list):
        out.append(f"{at} -a {_fish_quoted(' '.join(command.complete))}")
    return out


def fish(program):
    out = [_FISH]
    for word, summary in _zsh_first(program):
        out.append(f"complete -c sandgate -n 'test (count (commandline -opc)) = 1' -a {word} "
                   f"-d {_fish_quoted(summary)}")
    for word in _groups(program):
        for command in program.group(word):
            out.append(f"complete -c sandgate -n '__sandgate_at {word}' -a {command.words[1]} "
                       f"-d {_fish_quoted(command.summary)}")
    for command in program.commands:
        out += _fish_command(program, command)
    return "\n".join(out) + "\n"


def main():
    path, shell, out = sys.argv[1:]
    made = {"bash": bash, "zsh": zsh, "fish": fish}[shell](commands.load(path))
    with open(out, "w", encoding="ascii") as file:
        file.write(made)


if __name__ == "__main__":
    main()
