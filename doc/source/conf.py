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
man_pages = [
    (f'cli/{page}', page, text, ['nova-rt developers'], 1)
    for page, text in (
        ('nova-rt', 'check and release CPU reservations of a compute host'),
        ('nova-rt-plan', 'plan CPU reservations'),
        ('nova-rt-pinning', 'advise on pinning and interference'),
        ('nova-rt-monitor', 'watch the servers of a compute host'),
        ('nova-rt-manage', 'compare and repair CPU reservations'),
        ('nova-rt-status', 'check whether a cloud is ready for nova-rt'),
        ('openstack-rt', 'CPU reservations of a cloud'),
        ('tacker-rt', 'CPU reservations of VNF descriptors'),
        ('rt-probe', 'measure the CPU time of this machine'))]
