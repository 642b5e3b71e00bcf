#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gen_completions.py COMMANDS.yaml CATALOGUE bash|zsh|fish OUT: the completions of one shell.

Names of sandboxes are the folders that hold a control socket under the runtime folder, and those
that hold a definition under the state folder: a shell waits for the answer, and looking is quicker
than asking each sandbox. Ids of permissions are those that are compiled in.
"""

import pathlib
import sys

import commands
import permissions


def _cases(pairs, indent):
    """Lines of a shell `case` body; pairs of pattern and statement."""
    return "\n".join(f"{indent}{pattern}) {statement} ;;" for pattern, statement in pairs)


# bash

_BASH = """\
# Completion of sandgate for bash. Made from docs/commands.yaml and catalogue/.

_sandgate_permissions="{permissions}"
_sandgate_ids="$_sandgate_permissions {presets}"

_sandgate_sandboxes() {{
\tlocal folders=("${{XDG_RUNTIME_DIR:-/run/user/$EUID}}/sandgate" "/tmp/sandgate-$EUID")
\tlocal folder socket
\tlocal kept="${{XDG_STATE_HOME:-$HOME/.local/state}}/sandgate" file
\t[ "$EUID" = 0 ] && folders=(/run/sandgate) kept=/var/lib/sandgate
\tfor folder in "${{folders[@]}}"; do
\t\tfor socket in "$folder"/*/control; do
\t\t\t[ -S "$socket" ] || continue
\t\t\tsocket=${{socket%/control}}
\t\t\techo "${{socket##*/}}"
\t\tdone
\tdone
\tfor file in "$kept"/sandboxes/*/sandbox.json; do
\t\t[ -f "$file" ] || continue
\t\tfile=${{file%/sandbox.json}}
\t\techo "${{file##*/}}"
\tdone
}}

_sandgate_offer() {{
\tlocal IFS=$' \\t\\n'
\tCOMPREPLY=($(compgen -W "$1" -- "$cur"))
}}

# Ids parted by commas. The shell parts words at ":" and "=", and puts in what follows the last of
# them.
_sandgate_items() {{
\tlocal IFS=$' \\t\\n' typed=${{tokens[${{#tokens[@]}} - 1]}} list head i
\tcase $typed in --*=*) typed=${{typed#*=}} ;; esac
\tlist=${{typed%"${{typed##*,}}"}}
\t[[ $COMP_WORDBREAKS == *:* ]] && head=${{typed%"${{typed##*[:=]}}"}}
\tCOMPREPLY=($(compgen -P "$list" -W "$1" -- "${{typed##*,}}"))
\tfor i in "${{!COMPREPLY[@]}}"; do
\t\tCOMPREPLY[i]=${{COMPREPLY[i]#"$head"}}
\tdone
}}

# How many arguments stand before the word that is being written.
_sandgate_position() {{
\tlocal i words=($command)
\tposition=0
\tfor ((i = ${{#words[@]}} + 1; i < ${{#tokens[@]}} - 1; i++)); do
\t\tif _sandgate_value "$command ${{tokens[i]}}"; then
\t\t\t((i++))
\t\telif [[ ${{tokens[i]}} != -* ]]; then
\t\t\t((position++))
\t\tfi
\tdone
\tCOMPREPLY=()
}}

# What an option takes; false when the word before is no such option.
_sandgate_value() {{
\tcase $1 in
{values}
\t*) return 1 ;;
\tesac
\treturn 0
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
\tlocal cur=${{COMP_WORDS[COMP_CWORD]}} typed=${{COMP_LINE:0:COMP_POINT}}
\tlocal first=${{COMP_WORDS[1]}} command i words tokens option position
\tCOMPREPLY=()
\tread -ra tokens <<<"$typed"
\t[[ $typed == *[[:space:]] ]] && tokens+=('')
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
\t[ "$cur" = = ] && cur=
\toption=${{tokens[${{#tokens[@]}} - 2]}}
\tcase ${{tokens[${{#tokens[@]}} - 1]}} in
\t--*=*) option=${{tokens[${{#tokens[@]}} - 1]%%=*}} ;;
\tesac
\t_sandgate_value "$command $option" && return
\tcase $command in
{words}
\t*) return ;;
\tesac
\tcase $cur in
\t-*) _sandgate_offer "$words" ;;
\t*)
\t\t_sandgate_position
\t\tcase $command in
{arguments}
\t\tesac
\t\t;;
\tesac
}}

complete -F _sandgate sandgate
"""


def _bash_value(option, ids):
    if option.complete == "items":
        return "_sandgate_items \"$_sandgate_ids\""
    if option.complete == "file":
        return 'COMPREPLY=($(compgen -f -- "$cur"))'
    if option.complete == "dir":
        return 'COMPREPLY=($(compgen -d -- "$cur"))'
    return f'_sandgate_offer "{" ".join(option.complete or [])}"'


def _bash_words(program, command, ids):
    if command.complete == "items":
        return "_sandgate_items \"$_sandgate_ids\""
    if command.complete == "permissions":
        return "_sandgate_items \"$_sandgate_permissions\""
    if command.complete == "commands":
        return f'_sandgate_offer "{" ".join(program.first_words())}"'
    if command.complete == "file":
        return 'COMPREPLY=($(compgen -f -- "$cur"))'
    if isinstance(command.complete, list):
        return f'_sandgate_offer "{" ".join(command.complete)}"'
    return None


def _bash_arguments(program, command, ids):
    words = _bash_words(program, command, ids)
    if not command.sandbox:
        return words
    name = 'if [ "$position" = 0 ]; then _sandgate_offer "$(_sandgate_sandboxes)"; '
    return name + (f"else {words}; fi" if words else "fi")


def _bash_group(program, word):
    """The second word; where the first is a command by itself, its own words as well."""
    seconds = [c.words[1] for c in program.group(word) if len(c.words) > 1]
    own = " $(_sandgate_sandboxes)" if _own(program, word) else ""
    return (word, f'[ "${{#tokens[@]}}" = 3 ] && [[ $cur != -* ]] && '
                  f'{{ _sandgate_offer "{" ".join(seconds)}{own}"; return; }}; '
                  f'case ${{tokens[2]}} in {"|".join(seconds)}) '
                  'command="$first ${tokens[2]}" ;; esac')


def bash(program, ids):
    values = [(f'"{c.name} --{o.name}"', _bash_value(o, ids))
              for c in program.commands for o in c.options if o.value]
    words = [(f'"{c.name}"', f'words="{" ".join(_spellings(c))}"') for c in program.commands]
    arguments = [(f'"{c.name}"', _bash_arguments(program, c, ids)) for c in program.commands]
    return _BASH.format(
        permissions=" ".join(ids.permissions), presets=" ".join(ids.presets),
        values=_cases(values, "\t"), first_words=" ".join(program.first_words()),
        groups=_cases([_bash_group(program, w) for w in _groups(program)], "\t"),
        takers="|".join(f'"{c.name}"' for c in program.commands if c.takes_command),
        words=_cases(words, "\t"), arguments=_cases([a for a in arguments if a[1]], "\t\t"))


def _groups(program):
    return [w for w in program.first_words()
            if any(len(c.words) > 1 for c in program.group(w))]


def _own(program, word):
    """The command that is the first word of a group alone, or None."""
    return next((c for c in program.group(word) if c.name == word), None)


def _spellings(command):
    ends = ["--"] if command.takes_command else []
    return [f"--{option.name}" for option in command.options] + ["--help"] + ends


# zsh

_ZSH = """\
#compdef sandgate
# Completion of sandgate for zsh. Made from docs/commands.yaml and catalogue/.

_sandgate_sandboxes() {{
\tlocal -a folders=(${{XDG_RUNTIME_DIR:-/run/user/$EUID}}/sandgate /tmp/sandgate-$EUID)
\t(( EUID == 0 )) && folders=(/run/sandgate)
\tlocal kept=${{XDG_STATE_HOME:-$HOME/.local/state}}/sandgate
\t(( EUID == 0 )) && kept=/var/lib/sandgate
\tlocal -aU sandboxes
\tsandboxes=($^folders/*/control(N=:h:t) $kept/sandboxes/*/sandbox.json(N.:h:t))
\t_describe 'sandbox' sandboxes
}}

# With commas between them.
_sandgate_items() {{
\tlocal -a items=(
{items}
\t)
\tcompset -P '*,'
\t_describe 'permission' items -S ''
}}

_sandgate_permissions() {{
\tlocal -a permissions=(
{permissions}
\t)
\t_describe 'permission' permissions
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
\t\tif (( CURRENT == 3 )) && [[ $words[3] != -* ]]; then
\t\t\tsecond=({seconds})
\t\t\t_describe 'command' second
{own}\t\t\treturn
\t\tfi
\t\tcase $words[3] in
\t\t{names})
\t\t\tlocal name="$words[2] $words[3]"
\t\t\tshift words; (( CURRENT-- ))
\t\t\t_sandgate_of "$name"
\t\t\treturn
\t\t\t;;
\t\tesac
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
    if option.complete == "items":
        return "_sandgate_items"
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
    specs = [_zsh_option(option) for option in command.options] + ["--help[show the help]"]
    at = "1"
    if command.sandbox:
        specs.append("1:sandbox:_sandgate_sandboxes")
        at = "*"
    if command.complete == "items":
        specs.append(f"{at}:item:_sandgate_items")
    elif command.complete == "permissions":
        specs.append(f"{at}:permission:_sandgate_permissions")
    elif command.complete == "commands":
        specs.append(f"{at}:command:_sandgate_first")
    elif command.complete == "file":
        specs.append(f"{at}:file:_files")
    elif isinstance(command.complete, list):
        specs.append(f"{at}:word:({' '.join(command.complete)})")
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


def _zsh_group(program, word):
    several = [c for c in program.group(word) if len(c.words) > 1]
    return _ZSH_GROUP.format(
        word=word, seconds=_zsh_described((c.words[1], c.summary) for c in several),
        names="|".join(c.words[1] for c in several),
        own="\t\t\t_sandgate_sandboxes\n" if _own(program, word) else "")


def _zsh_listed(pairs):
    """A colon parts a word from what is said of it."""
    return "\n".join("\t\t" + _zsh_quoted(name.replace(":", "\\:") + ":" + says)
                     for name, says in pairs)


def zsh(program, ids):
    first = "\n".join("\t\t" + _zsh_described([pair]) for pair in _zsh_first(program))
    return _ZSH.format(first=first, items=_zsh_listed((ids.permissions | ids.presets).items()),
                       permissions=_zsh_listed(ids.permissions.items()),
                       groups="\n".join(_zsh_group(program, w) for w in _groups(program)),
                       commands="\n".join(_zsh_command(c) for c in program.commands))


# fish

_FISH = """\
# Completion of sandgate for fish. Made from docs/commands.yaml and catalogue/.

function __sandgate_sandboxes
\tset -l id (id -u)
\tset -l folders $XDG_RUNTIME_DIR/sandgate /run/user/$id/sandgate /tmp/sandgate-$id
\ttest $id = 0; and set folders /run/sandgate
\tset -l kept $HOME/.local/state/sandgate
\tset -q XDG_STATE_HOME; and set kept $XDG_STATE_HOME/sandgate
\ttest $id = 0; and set kept /var/lib/sandgate
\tbegin
\t\tfor socket in $folders/*/control
\t\t\tstring replace -r '.*/([^/]*)/control$' '$1' $socket
\t\tend
\t\tfor file in $kept/sandboxes/*/sandbox.json
\t\t\tstring replace -r '.*/([^/]*)/sandbox.json$' '$1' $file
\t\tend
\tend | sort -u
end

function __sandgate_permissions
FISH_PERMISSIONS
end

# Of a list with commas: what is there, and each id after it.
function __sandgate_items
\tset -l before (commandline -ct | string replace -r '^--[^=]*=' '' | string match -r '.*,')
\tbegin
\t\t__sandgate_permissions
FISH_PRESETS
\tend | string replace -r -- '^' "$before"
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

# The first word alone, and not with one of the second words that follow here.
function __sandgate_alone
\tset -l words (commandline -opc)
\t__sandgate_in $argv[1]; and not contains -- "$words[3]" $argv[2..]
end

# True when the words of the command have been followed by an argument already.
function __sandgate_named
\t__sandgate_in $argv; or return 1
\tset -l words (commandline -opc)
\tset -l from (math (count $argv) + 2)
\tset -l value no
\tfor word in $words[$from..-1]
\t\tif test $value = yes
\t\t\tset value no
\t\telse if contains -- $word FISH_VALUED
\t\t\tset value yes
\t\telse if not string match -q -- '-*' $word
\t\t\treturn 0
\t\tend
\tend
\treturn 1
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


def _fish_in(program, command):
    seconds = [c.words[1] for c in program.group(command.name) if len(c.words) > 1]
    if seconds:
        return f"__sandgate_alone {command.name} {' '.join(seconds)}"
    return f"__sandgate_in {command.name}"


def _fish_option(program, command, option):
    line = (f"complete -c sandgate -n '{_fish_in(program, command)}' -l {option.name} "
            f"-d {_fish_quoted(_zsh_summary(option).replace(chr(92), ''))}")
    if not option.value:
        return line
    if option.complete in ("file", "dir"):
        return line + " -rF"
    if option.complete == "items":
        return line + " -xa '(__sandgate_items)'"
    return line + (f" -xa {_fish_quoted(' '.join(option.complete))}" if option.complete else " -x")


def _fish_words(program, command):
    """The arguments but for a sandbox's name; None for none."""
    if command.complete == "items":
        return "-a '(__sandgate_items)'"
    if command.complete == "permissions":
        return "-a '(__sandgate_permissions)'"
    if command.complete == "commands":
        return f"-a {_fish_quoted(' '.join(program.first_words()))}"
    if command.complete == "file":
        return "-F"
    if isinstance(command.complete, list):
        return f"-a {_fish_quoted(' '.join(command.complete))}"
    return None


def _fish_command(program, command):
    inside = _fish_in(program, command)
    at = f"complete -c sandgate -n '{inside}'"
    out = [_fish_option(program, command, option) for option in command.options]
    out.append(f"{at} -s h -l help -d 'show the help'")
    words = _fish_words(program, command)
    if command.sandbox:
        named = f"__sandgate_named {command.name}"
        out.append(f"complete -c sandgate -n '{inside}; and not {named}' "
                   "-a '(__sandgate_sandboxes)'")
        if words:
            out.append(f"complete -c sandgate -n '{named}' {words}")
    elif words:
        out.append(f"{at} {words}")
    return out


def _fish_printed(pairs, indent):
    """Lines that print each word with what is said of it, after a tab."""
    return "\n".join(f"{indent}printf '%s\\t%s\\n' {name} {_fish_quoted(says)}"
                     for name, says in pairs)


def fish(program, ids):
    valued = sorted({f"--{o.name}" for c in program.commands for o in c.options if o.value})
    out = [_FISH.replace("FISH_VALUED", " ".join(valued))
           .replace("FISH_PERMISSIONS", _fish_printed(ids.permissions.items(), "\t"))
           .replace("FISH_PRESETS", _fish_printed(ids.presets.items(), "\t\t"))]
    for word, summary in _zsh_first(program):
        out.append(f"complete -c sandgate -n 'test (count (commandline -opc)) = 1' -a {word} "
                   f"-d {_fish_quoted(summary)}")
    for word in _groups(program):
        for command in (c for c in program.group(word) if len(c.words) > 1):
            out.append(f"complete -c sandgate -n '__sandgate_at {word}' -a {command.words[1]} "
                       f"-d {_fish_quoted(command.summary)}")
    for command in program.commands:
        out += _fish_command(program, command)
    return "\n".join(out) + "\n"


class Ids:
    """`permissions` and `presets`: each id and the sentence that goes with it."""

    def __init__(self, catalogue):
        self.permissions = {p.id: p.says for p in catalogue.permissions.values()}
        self.presets = {p.name: p.says for p in catalogue.presets}


def main():
    path, catalogue, shell, out = sys.argv[1:]
    ids = Ids(permissions.load(pathlib.Path(catalogue)))
    made = {"bash": bash, "zsh": zsh, "fish": fish}[shell](commands.load(path), ids)
    with open(out, "w", encoding="ascii") as file:
        file.write(made)


if __name__ == "__main__":
    main()
