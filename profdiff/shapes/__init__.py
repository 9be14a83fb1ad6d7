"""What can be shown: shapes that know no topic and no form."""
