# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt translate``: translates a VNFD into Heat templates."""

import argparse
from collections.abc import Mapping
from pathlib import Path
import sys
from typing import Any

import yaml

from tacker_rt import exception
from tacker_rt import problem
from tacker_rt import request
from tacker_rt import translate
from tacker_rt.vnfd import yamlfile


def register(commands: 'argparse._SubParsersAction[Any]') -> None:
    """Adds the subcommand ``translate``."""
    parser = commands.add_parser(
        'translate', help='translate a VNFD into a Heat template',
        description='Translates a VNFD into a Heat template (HOT) and prints '
        'it.',
        epilog='Exit status: 0 done, 1 the VNFD cannot be translated, 3 '
        'wrong usage.')
    parser.add_argument('vnfd', type=Path, metavar='VNFD',
                        help='the VNFD, a YAML file')
    parser.add_argument(
        '--input', action='append', default=[], type=_input,
        metavar='NAME=VALUE', help='the value of an input; may be repeated')
    parser.add_argument(
        '--image', help='the image for VDUs that name no image')
    parser.add_argument(
        '--request', type=Path, metavar='FILE', help='the body of a request '
        'to instantiate, as JSON; its reservations override those of the VNFD')
    parser.add_argument(
        '--etsi-types', type=Path, metavar='DIR',
        help='the directory of the type files of SOL001 (default: the files '
             'that come with Tacker)')
    parser.add_argument(
        '--output-dir', type=Path, metavar='DIR',
        help=f'write {translate.MAIN} and its nested templates to DIR '
             f'instead of standard output')
    parser.set_defaults(run=run)


def _input(text: str) -> tuple[str, Any]:
    """Returns the name and the value of an input, read as in a VNFD.

    The reader of VNFDs refuses values that YAML 1.1 changes: 060000 would be
    24576.
    """
    name, separator, value = text.partition('=')
    if not name or not separator:
        raise argparse.ArgumentTypeError(f'{text!r} is not NAME=VALUE')
    place = problem.Place([], name)
    parsed = yamlfile.load(place, f'default: {value}'.encode(errors='replace'))
    if place.problems and place.problems[0].rule.startswith('YAML reads'):
        raise argparse.ArgumentTypeError(str(place.problems[0]))
    return name, parsed['default'] if not place.problems and isinstance(
        parsed, dict) and len(parsed) == 1 else value


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand and returns its exit status."""
    warnings: list[problem.Problem] = []
    try:
        templates = translate.translate(
            args.vnfd, inputs=dict(args.input), image=args.image,
            etsi=args.etsi_types, warnings=warnings,
            request=(request.load(args.request) if args.request
                     else request.Request()))
    except exception.TackerRTError as error:
        print(error, file=sys.stderr)
        return 1
    for warning in warnings:
        print(f'warning: {warning}', file=sys.stderr)
    if args.output_dir:
        return _write(args.output_dir, templates)
    if len(templates) > 1:
        nested = ', '.join(sorted(templates.keys() - {translate.MAIN}))
        print(f'{args.vnfd.name}: the VNFD needs several templates (also '
              f'{nested}); give --output-dir.', file=sys.stderr)
        return 1
    sys.stdout.write(_text(templates[translate.MAIN]))
    return 0


def _write(directory: Path, templates: Mapping[str, dict[str, Any]]) -> int:
    texts = {name: _text(template) for name, template in templates.items()}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (directory / name).write_text(text)
    except OSError as error:
        print(f'{directory}: the templates cannot be written there '
              f'({error.strerror}); give another directory.',
              file=sys.stderr)
        return 1
    return 0


def _text(template: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(template, sort_keys=False)
    return text
