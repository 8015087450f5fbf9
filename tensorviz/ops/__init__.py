"""Every op, one class each, by family. Importing a family registers its ops; imports nothing of the record or the views."""
