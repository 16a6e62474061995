"""The reproduction of the paper: tables, figures, studies, the grid runner and the report."""
