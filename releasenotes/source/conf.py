# SPDX-License-Identifier: Apache-2.0

"""Sphinx configuration of the release notes."""

extensions = ['openstackdocstheme', 'reno.sphinxext']
project = 'nova-rt release notes'
copyright = 'nova-rt developers'  # noqa: A001
master_doc = 'index'
html_theme = 'openstackdocs'
openstackdocs_auto_name = False
openstackdocs_repo_name = 'nova-rt'
