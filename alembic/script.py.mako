"""${message}

Revision: ${up_revision}, after ${down_revision | comma,n}. Rewrites rows: no.
"""

import sqlalchemy as sa
from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    raise NotImplementedError("a ledger does not go back: restore a backup instead")
