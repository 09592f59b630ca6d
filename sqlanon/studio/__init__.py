"""The studio: a page on this machine that goes from a table to a policy and an audited release, with its costs."""

import sys

from sqlanon.core.doors import VerbFolder

sys.modules[__name__].__class__ = VerbFolder
