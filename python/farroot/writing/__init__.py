"""What users have, as columns that can be written."""
