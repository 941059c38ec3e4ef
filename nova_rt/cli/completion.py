# SPDX-License-Identifier: Apache-2.0

"""Makes a script with which bash completes the words of a command."""

import argparse
from collections.abc import Iterator
import re
from typing import Any

_SCRIPT = '''\
# Completion of {prog} for bash: {prog} complete > FILE
{function}() {{
    local word path="" i
    word=${{COMP_WORDS[COMP_CWORD]}}
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path ${{COMP_WORDS[i]}}" in
            {known}) path="$path ${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "${{path# }}|${{COMP_WORDS[COMP_CWORD - 1]}}" in
{choices}
    esac
    case "${{path# }}" in
{words}
    esac
    [[ ${{#COMPREPLY[@]}} -gt 0 ]] || COMPREPLY=($(compgen -f -- "$word"))
}}
complete -o filenames -F {function} {prog}'''


def register(commands: Any) -> None:
    """Adds the subcommand ``complete``."""
    parser = commands.add_parser(
        'complete', help='print a script for completion in bash',
        description='Prints a script with which bash completes the '
                    'subcommands and options of this command.',
        epilog='Exit status: 0 done, 3 wrong usage.')
    parser.set_defaults(run=_run, complete=commands)


def _run(args: argparse.Namespace) -> int:
    print(script(args.complete))
    return 0


def script(commands: Any) -> str:
    """Returns the script.

    :param commands: what ``add_subparsers()`` of the command returned
    """
    prog = commands._prog_prefix.split()[0]
    commands_below = [('', [*commands.choices, '--help', '--version'], {}),
                      *_paths(commands, '')]
    known = '|'.join(f'" {path}"' for path, _, _ in commands_below if path)
    return _SCRIPT.format(
        prog=prog, function='_' + re.sub(r'\W', '_', prog), known=known,
        choices='\n'.join(
            _case(f'"{path}|{option}"', values, '; return')
            for path, _, choices in commands_below
            for option, values in choices.items()) or '        *) ;;',
        words='\n'.join(_case(f'"{path}"', words)
                        for path, words, _ in commands_below))


def _case(pattern: str, words: list[str], end: str = '') -> str:
    return (f'        {pattern}) COMPREPLY=($(compgen -W "{" ".join(words)}" '
            f'-- "$word"))' + end + ' ;;')


def _paths(commands: Any, before: str
           ) -> Iterator[tuple[str, list[str], dict[str, list[str]]]]:
    """Yields each subcommand, its words, and the choices of its options."""
    for name, parser in commands.choices.items():
        path = f'{before} {name}'.strip()
        words: list[str] = []
        choices: dict[str, list[str]] = {}
        for action in parser._actions:
            words += action.option_strings
            if action.choices is not None and not isinstance(
                    action, argparse._SubParsersAction):
                texts = [str(choice) for choice in action.choices]
                choices |= dict.fromkeys(action.option_strings, texts)
                if not action.option_strings:
                    words += texts
            if isinstance(action, argparse._SubParsersAction):
                words += action.choices
                yield from _paths(action, path)
        yield path, words, choices
