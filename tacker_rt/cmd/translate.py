# SPDX-License-Identifier: Apache-2.0

"""``tacker-rt translate``: a VNFD as Heat templates."""

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
    parser = commands.add_parser(
        'translate', help='print a VNFD as a Heat template',
        description='Print a VNFD as a Heat template (HOT).',
        epilog='Exit status: 0 done, 1 it cannot be translated, 3 wrong '
        'usage.')
    parser.add_argument('vnfd', type=Path, metavar='VNFD',
                        help='a YAML file')
    parser.add_argument(
        '--input', action='append', default=[], type=_input,
        metavar='NAME=VALUE', help='value of an input; may be repeated')
    parser.add_argument(
        '--image', help='image of the VDUs that name none')
    parser.add_argument(
        '--request', type=Path, metavar='FILE', help='the body of a request '
        'to instantiate, as JSON: what it asks for wins over the VNFD')
    parser.add_argument(
        '--etsi-types', type=Path, metavar='DIR',
        help='where the type files of SOL001 are (default: in Tacker)')
    parser.add_argument(
        '--output-dir', type=Path, metavar='DIR',
        help=f'write {translate.MAIN} and the templates nested in it there')
    parser.set_defaults(run=run)


def _input(text: str) -> tuple[str, Any]:
    """A value as in a VNFD; YAML 1.1 would take 060000 for 24576."""
    name, separator, value = text.partition('=')
    if not name or not separator:
        raise argparse.ArgumentTypeError(f'{text!r} is not NAME=VALUE')
    place = problem.Place([], name)
    known = yamlfile.load(place, f'default: {value}'.encode(errors='replace'))
    if place.found and place.found[0].rule.startswith('YAML takes'):
        raise argparse.ArgumentTypeError(str(place.found[0]))
    return name, known['default'] if not place.found and isinstance(
        known, dict) and len(known) == 1 else value


def run(args: argparse.Namespace) -> int:
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
        print(f'{args.vnfd.name}: there are nested templates ({nested}); '
              'give --output-dir.', file=sys.stderr)
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
        print(f'{directory}: it cannot be written to ({error.strerror}); '
              'give another directory.', file=sys.stderr)
        return 1
    return 0


def _text(template: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(template, sort_keys=False)
    return text
