# SPDX-License-Identifier: Apache-2.0

"""Sphinx configuration."""

import pathlib
import sys

# The pages of papers take their numbers from the data by paper.pages.
sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

extensions = [
    'openstackdocstheme',
    'oslo_config.sphinxext',
    'paper.pages',
    'sphinx.ext.autodoc',
]
project = 'nova-rt'
copyright = 'nova-rt developers'  # noqa: A001
master_doc = 'index'
exclude_patterns: list[str] = []
html_theme = 'openstackdocs'
openstackdocs_auto_name = False
openstackdocs_repo_name = 'nova-rt'
openstackdocs_use_storyboard = False
pygments_style = 'native'
autodoc_mock_imports = ['libvirt']
