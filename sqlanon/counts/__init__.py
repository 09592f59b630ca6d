"""Tables of counts that are safe to release: cells counted in the database, small ones suppressed, and the proof."""

import sys

from sqlanon.core.doors import VerbFolder

sys.modules[__name__].__class__ = VerbFolder
