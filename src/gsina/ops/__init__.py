"""Pure tensor functions: reductions over ragged groups, the soft top-r, edge index work."""

from gsina.ops.budget import Budget
from gsina.ops.draws.systematic import systematic_sample
from gsina.ops.edges import reverse_edges
from gsina.ops.groups import Groups
from gsina.ops.soft_top_r import Diagnostics, soft_top_r

__all__ = ["Budget", "Diagnostics", "Groups", "reverse_edges", "soft_top_r", "systematic_sample"]
