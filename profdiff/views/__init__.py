"""What reports show, as typed records: made once of comparisons and evidence, and rendered by every
form.

A record is a frozen struct of plain values. A module holds the records of one noun, and the
functions that make them. A renderer reads fields and never a sentence; where a record is also told
in words, it makes the sentence itself. ``document`` puts records together to what ``--json``
writes, so that a field's name and type there are those of the schema.
"""
