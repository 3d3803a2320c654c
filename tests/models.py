"""What handlers of the tests write, as the site's own rows."""

from django.db import models


class Mark(models.Model):
    """One call of a handler: which job, which claim, and from when to when by the database's clock."""

    job_id = models.BigIntegerField()
    claim_no = models.IntegerField()
    pid = models.IntegerField()
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"claim {self.claim_no} of job #{self.job_id}"
