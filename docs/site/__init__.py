"""The site of the documentation: ``python -m docs.site``."""
